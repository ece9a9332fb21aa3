/* A stand-in for libnvidia-ml.so.1 on hosts without a GPU: the part of NVML that a console reads, by pynvml's ABI.
 *
 * One directory a GPU: $FAKEGPU_DIR/<index>/ (default /var/lib/fakegpu/0, 1, ...).
 *
 * attrs         "key value" lines, read anew on every call, so a test changes a card by rewriting the file.
 *   name uuid bus driver                              texts
 *   memory.total memory.reserved memory.base          bytes; used = base + what the processes hold
 *   utilization.gpu utilization.memory                percent
 *   power power.limit                                 mW       temperature   degrees C
 *   energy                                            mJ; without it the counter grows by `power` since the boot, a
 *                                                     move each 100 ms ("fail energy 3": a card without a counter)
 *   clock.sm clock.sm.max clock.mem                   MHz      throttle      bit mask of the driver's reasons
 *   pcie.rx pcie.tx                                   KB/s;    pcie.cost_ms  what reading one direction takes (20)
 *   ecc.corrected ecc.uncorrected                     counts
 *   gpm 0                                             a card without GPM; else gpm.sm gpm.dram gpm.tensor (percent),
 *                                                     gpm.pcie.rx gpm.pcie.tx (MiB/s); "gpm.nan 1": a bad sample
 *   mig                                               0 or 1
 *   fail <call> <code>                                that call returns an NVML error: "fail memory 15" (GPU is lost),
 *                                                     "fail ecc 3" (not supported), "fail all 15", "fail init 18"
 *   delay_ms                                          every call takes that long: a driver that hangs
 * procs/<pid>   "BYTES [C|G]": GPU memory that the process holds, -1 where the driver does not say.  Counted while
 *               /proc/<pid> exists, as a driver frees what a dead process held; "foreign 1" in attrs counts all,
 *               like processes of another container.
 *
 * Formats and defaults are those of a real H200 with driver 580.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
enum { OK, UNINIT, INVALID, UNSUPPORTED, NOT_FOUND = 6, NO_SIZE = 7, NO_DRIVER = 9 };
enum { MAX_GPUS = 64 };
#define MIB (1ull << 20)
typedef struct { u64 total, free, used; } Memory;
typedef struct { u32 version; u64 total, reserved, free, used; } Memory2;
typedef struct { u32 gpu, memory; } Utilization;
typedef struct { u32 pid; u64 used; u32 gi, ci; } Proc;
typedef struct { char busIdLegacy[16]; u32 domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; } Pci;
typedef struct { u32 version, sensor; int temperature; } Temperature;
typedef struct { u32 id; int status; double value; char *shortName, *longName, *unit; } Metric;
typedef struct { u32 version, count; void *first, *second; Metric metrics[]; } Metrics;
typedef struct { u32 version, supported; } Support;
typedef struct {
    u32 field, scope;
    long long timestamp, latency;
    int type, status;
    union { double d; u32 u; u64 ull; } value;
} Field;
typedef void *Dev;                              /* the index plus one */

static int inits;
static u32 index_of(Dev d) { return (u32)(size_t)d - 1; }

static const char *directory(void) {
    const char *dir = getenv("FAKEGPU_DIR");
    return dir ? dir : "/var/lib/fakegpu";
}

static FILE *open_in(Dev d, const char *name) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%u/%s", directory(), index_of(d), name);
    return fopen(path, "r");
}

/* Look a key up in attrs; 0 when it isn't there. */
static int attr(Dev d, const char *key, char *out, size_t n) {
    char line[256];
    size_t len = strlen(key);
    int found = 0;
    FILE *f = open_in(d, "attrs");
    while (f && !found && fgets(line, sizeof line, f))
        if (!strncmp(line, key, len) && line[len] == ' ') {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, n, "%s", line + len + 1);
            found = 1;
        }
    if (f) fclose(f);
    return found;
}

static u64 num(Dev d, const char *key, u64 dflt) {
    char s[64];
    return attr(d, key, s, sizeof s) ? strtoull(s, 0, 0) : dflt;
}

static double real(Dev d, const char *key, double dflt) {
    char s[64];
    return attr(d, key, s, sizeof s) ? strtod(s, 0) : dflt;
}

/* Every device call starts here: initialised? made to fail or to be slow? */
static int enter(Dev d, const char *call) {
    char key[80];
    if (!inits) return UNINIT;
    if (!d) return INVALID;
    u64 ms = num(d, "delay_ms", 0);
    if (ms) usleep(ms * 1000);
    snprintf(key, sizeof key, "fail %s", call);
    return (int)num(d, key, num(d, "fail all", OK));
}
#define ENTER(call) do { int e = enter(d, call); if (e) return e; } while (0)

/* Those of one kind, "C" or "G", or of any with kind 0; sum is of all that is known. */
static u32 procs(Dev d, char kind, Proc *out, u32 max, u64 *sum) {
    char path[4400];
    int foreign = (int)num(d, "foreign", 0);
    struct dirent *e;
    u32 n = 0;
    snprintf(path, sizeof path, "%s/%u/procs", directory(), index_of(d));
    DIR *dp = opendir(path);
    *sum = 0;
    while (dp && (e = readdir(dp))) {
        char name[300], alive[32], type = 'C', *end;
        long pid = strtol(e->d_name, &end, 10);
        long long bytes = 0;
        snprintf(alive, sizeof alive, "/proc/%ld", pid);
        if (pid <= 0 || *end || (!foreign && access(alive, F_OK))) continue;
        snprintf(name, sizeof name, "procs/%.40s", e->d_name);
        FILE *f = open_in(d, name);
        if (!f) continue;
        if (fscanf(f, "%lld %c", &bytes, &type) < 1) bytes = 0;
        fclose(f);
        if (bytes > 0) *sum += (u64)bytes;
        if (kind && kind != type) continue;
        if (out && n < max) out[n] = (Proc){(u32)pid, bytes < 0 ? ~0ull : (u64)bytes, ~0u, ~0u};
        n++;
    }
    if (dp) closedir(dp);
    return n;
}

int nvmlInitWithFlags(u32 flags) {
    FILE *f = open_in((Dev)1, "attrs");             /* no GPU directory: as with no driver loaded */
    (void)flags;
    if (!f) return NO_DRIVER;
    fclose(f);
    int e = (int)num((Dev)1, "fail init", OK);
    if (!e) inits++;
    return e;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { if (!inits) return UNINIT; inits--; return OK; }

const char *nvmlErrorString(int e) {
    switch (e) {
        case OK: return "Success";
        case UNINIT: return "Uninitialized";
        case INVALID: return "Invalid Argument";
        case UNSUPPORTED: return "Not Supported";
        case 4: return "Insufficient Permissions";
        case NOT_FOUND: return "Not Found";
        case NO_SIZE: return "Insufficient Size";
        case NO_DRIVER: return "Driver Not Loaded";
        case 10: return "Timeout";
        case 13: return "Function Not Found";
        case 15: return "GPU is lost";
        case 16: return "GPU requires reset";
        case 18: return "Driver/library version mismatch";
        default: return "Unknown Error";
    }
}

static int text(const char *s, char *out, u32 n) { if (strlen(s) + 1 > n) return NO_SIZE; strcpy(out, s); return OK; }
int nvmlSystemGetDriverVersion(char *s, u32 n) {
    char v[80] = "580.159.04";
    if (!inits) return UNINIT;
    attr((Dev)1, "driver", v, sizeof v);
    return text(v, s, n);
}
int nvmlSystemGetNVMLVersion(char *s, u32 n) { return inits ? text("13.580.159.04", s, n) : UNINIT; }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = 13000; return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 13000; return OK; }
int nvmlSystemGetProcessName(u32 pid, char *s, u32 n) {
    char path[40], buf[1024] = "";
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *f = fopen(path, "r");
    if (!f) return NOT_FOUND;
    if (!fgets(buf, sizeof buf, f)) buf[0] = 0;     /* up to the first NUL: the program, or the title it gave itself */
    fclose(f);
    return text(buf, s, n);
}

int nvmlDeviceGetCount_v2(u32 *n) {
    FILE *f;
    if (!inits) return UNINIT;
    for (*n = 0; *n < MAX_GPUS && (f = open_in((Dev)(size_t)(*n + 1), "attrs")); (*n)++) fclose(f);
    return OK;
}
int nvmlDeviceGetCount(u32 *n) { return nvmlDeviceGetCount_v2(n); }
int nvmlDeviceGetHandleByIndex_v2(u32 i, Dev *d) {
    u32 n;
    int e = nvmlDeviceGetCount_v2(&n);
    if (e || i >= n) return e ? e : INVALID;
    *d = (Dev)(size_t)(i + 1);
    return enter(*d, "handle");
}
int nvmlDeviceGetHandleByIndex(u32 i, Dev *d) { return nvmlDeviceGetHandleByIndex_v2(i, d); }
int nvmlDeviceGetIndex(Dev d, u32 *i) { ENTER("index"); *i = index_of(d); return OK; }
int nvmlDeviceGetMinorNumber(Dev d, u32 *i) { return nvmlDeviceGetIndex(d, i); }
int nvmlDeviceGetName(Dev d, char *s, u32 n) { char v[96] = "NVIDIA H200"; ENTER("name"); attr(d, "name", v, sizeof v); return text(v, s, n); }
int nvmlDeviceGetUUID(Dev d, char *s, u32 n) {
    char v[96];
    ENTER("uuid");
    snprintf(v, sizeof v, "GPU-00000000-0000-0000-0000-%012u", index_of(d));
    attr(d, "uuid", v, sizeof v);
    return text(v, s, n);
}
int nvmlDeviceGetPciInfo_v3(Dev d, Pci *p) {
    char v[32];
    ENTER("pci");
    *p = (Pci){.bus = 16 + index_of(d), .pciDeviceId = 0x233510de};
    snprintf(v, sizeof v, "00000000:%02X:00.0", p->bus & 255);
    attr(d, "bus", v, sizeof v);
    snprintf(p->busId, sizeof p->busId, "%s", v);
    snprintf(p->busIdLegacy, sizeof p->busIdLegacy, "%.15s", strlen(v) > 12 ? v + 4 : v);
    return OK;
}

/* Version 1 counts the driver's reserve as used, version 2 and nvidia-smi don't. */
int nvmlDeviceGetMemoryInfo_v2(Dev d, Memory2 *m) {
    u64 sum;
    ENTER("memory");
    procs(d, 0, 0, 0, &sum);
    m->total = num(d, "memory.total", 143771 * MIB);
    m->reserved = num(d, "memory.reserved", 615 * MIB);
    m->used = num(d, "memory.base", 0) + sum;
    if (m->used > m->total - m->reserved) m->used = m->total - m->reserved;
    m->free = m->total - m->reserved - m->used;
    return OK;
}
int nvmlDeviceGetMemoryInfo(Dev d, Memory *m) {
    Memory2 v2;
    int e = nvmlDeviceGetMemoryInfo_v2(d, &v2);
    if (!e) *m = (Memory){v2.total, v2.free, v2.used + v2.reserved};
    return e;
}
int nvmlDeviceGetUtilizationRates(Dev d, Utilization *u) {
    ENTER("utilization");
    *u = (Utilization){(u32)num(d, "utilization.gpu", 0), (u32)num(d, "utilization.memory", 0)};
    return OK;
}

#define NUMBER(fn, key, dflt) int fn(Dev d, u32 *v) { ENTER(key); *v = (u32)num(d, key, dflt); return OK; }
NUMBER(nvmlDeviceGetPowerUsage, "power", 80880)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power.limit", 700000)
NUMBER(nvmlDeviceGetPowerManagementLimit, "power.limit", 700000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power.limit", 700000)
NUMBER(nvmlDeviceGetPerformanceState, "pstate", 0)
NUMBER(nvmlDeviceGetComputeMode, "compute_mode", 0)
NUMBER(nvmlDeviceGetPersistenceMode, "persistence", 1)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen", 5)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.gen.max", 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width", 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie.width.max", 16)
int nvmlDeviceGetTotalEnergyConsumption(Dev d, u64 *v) {
    struct timespec t;
    ENTER("energy");
    clock_gettime(CLOCK_BOOTTIME, &t);
    u64 tenths = (u64)t.tv_sec * 10 + (u64)t.tv_nsec / 100000000;
    *v = num(d, "energy", num(d, "power", 80880) * tenths / 10);
    return OK;
}
int nvmlDeviceGetTemperature(Dev d, int sensor, u32 *v) { (void)sensor; ENTER("temperature"); *v = (u32)num(d, "temperature", 39); return OK; }
int nvmlDeviceGetTemperatureV(Dev d, Temperature *t) { u32 v = 0; int e = nvmlDeviceGetTemperature(d, 0, &v); t->temperature = (int)v; return e; }
int nvmlDeviceGetClockInfo(Dev d, int type, u32 *v) { ENTER("clock"); *v = (u32)(type == 2 ? num(d, "clock.mem", 3201) : num(d, "clock.sm", 345)); return OK; }
int nvmlDeviceGetMaxClockInfo(Dev d, int type, u32 *v) { ENTER("clock"); *v = (u32)(type == 2 ? num(d, "clock.mem", 3201) : num(d, "clock.sm.max", 1980)); return OK; }
int nvmlDeviceGetFanSpeed(Dev d, u32 *v) { ENTER("fan"); *v = 0; return UNSUPPORTED; }   /* as on SXM boards */
int nvmlDeviceGetMigMode(Dev d, u32 *cur, u32 *pending) { ENTER("mig"); *cur = *pending = (u32)num(d, "mig", 0); return OK; }
int nvmlDeviceGetMaxMigDeviceCount(Dev d, u32 *n) { ENTER("mig"); *n = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(Dev d, u32 i, Dev *out) { (void)i; (void)out; ENTER("mig"); return NOT_FOUND; }
int nvmlDeviceGetCudaComputeCapability(Dev d, int *major, int *minor) { ENTER("cc"); *major = (int)num(d, "cc", 90) / 10; *minor = (int)num(d, "cc", 90) % 10; return OK; }

/* Idle is a reason too, as the driver has it: bit 0 while nothing runs. */
static int reasons(Dev d, u64 *v) { ENTER("throttle"); *v = num(d, "throttle", num(d, "utilization.gpu", 0) ? 0 : 1); return OK; }
int nvmlDeviceGetCurrentClocksEventReasons(Dev d, u64 *v) { return reasons(d, v); }
int nvmlDeviceGetCurrentClocksThrottleReasons(Dev d, u64 *v) { return reasons(d, v); }
int nvmlDeviceGetSupportedClocksEventReasons(Dev d, u64 *v) { ENTER("throttle"); *v = 0x1ff; return OK; }

/* The driver samples 20 ms for each direction, whoever asks. */
int nvmlDeviceGetPcieThroughput(Dev d, int counter, u32 *v) {
    ENTER("pcie");
    usleep((u32)num(d, "pcie.cost_ms", 20) * 1000);
    *v = (u32)num(d, counter ? "pcie.rx" : "pcie.tx", 0);
    return OK;
}

int nvmlDeviceGetEccMode(Dev d, int *cur, int *pending) { ENTER("ecc"); *cur = *pending = 1; return OK; }
int nvmlDeviceGetTotalEccErrors(Dev d, int type, int counter, u64 *v) {
    (void)counter;
    ENTER("ecc");
    *v = num(d, type ? "ecc.uncorrected" : "ecc.corrected", 0);
    return OK;
}
int nvmlDeviceGetMemoryErrorCounter(Dev d, int type, int counter, int location, u64 *v) { (void)location; return nvmlDeviceGetTotalEccErrors(d, type, counter, v); }

/* GPM: a sample keeps its card; metrics are of the card between two of them. */
typedef struct { Dev device; } Sample;
int nvmlGpmQueryDeviceSupport(Dev d, Support *s) { ENTER("gpm"); s->supported = (u32)num(d, "gpm", 1); return OK; }
int nvmlGpmSampleAlloc(Sample **s) { *s = calloc(1, sizeof **s); return *s ? OK : INVALID; }
int nvmlGpmSampleFree(Sample *s) { free(s); return OK; }
int nvmlGpmSampleGet(Dev d, Sample *s) {
    ENTER("gpm");
    if (!num(d, "gpm", 1)) return UNSUPPORTED;
    s->device = d;
    return OK;
}
static double metric(Dev d, u32 id) {
    if (num(d, "gpm.nan", 0)) return NAN;
    switch (id) {
        case 1: return real(d, "utilization.gpu", 0);
        case 2: return real(d, "gpm.sm", 0);
        case 3: return real(d, "gpm.occupancy", 0);
        case 5: return real(d, "gpm.tensor", 0);
        case 10: return real(d, "gpm.dram", 0);
        case 20: return real(d, "gpm.pcie.tx", 0);
        case 21: return real(d, "gpm.pcie.rx", 0);
        default: return -1;
    }
}
int nvmlGpmMetricsGet(Metrics *m) {
    Sample *s = m->second;
    if (!inits) return UNINIT;
    if (!s || !s->device || !m->first || ((Sample *)m->first)->device != s->device) return INVALID;
    Dev d = s->device;
    ENTER("gpm");
    for (u32 i = 0; i < m->count; i++) {
        double v = metric(d, m->metrics[i].id);
        m->metrics[i].status = v < 0 ? UNSUPPORTED : OK;
        m->metrics[i].value = v;
    }
    return OK;
}

/* Fields by number: memory temperature (82), power averaged (185) and now (186). */
int nvmlDeviceGetFieldValues(Dev d, int n, Field *f) {
    ENTER("fields");
    for (int i = 0; i < n; i++) {
        f[i].status = OK;
        f[i].type = 1;
        switch (f[i].field) {
            case 82: f[i].value.u = (u32)num(d, "temperature", 39) + 3; break;
            case 185: case 186: f[i].value.u = (u32)num(d, "power", 80880); break;
            default: f[i].status = UNSUPPORTED;
        }
    }
    return OK;
}

/* Call convention of the real one: too small a buffer => INSUFFICIENT_SIZE and the count needed. */
static int running(Dev d, char kind, u32 *count, Proc *out) {
    u64 sum;
    u32 max = *count;
    ENTER("procs");
    *count = procs(d, kind, out, max, &sum);
    return *count > max ? NO_SIZE : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Dev d, u32 *count, Proc *out) { return running(d, 'C', count, out); }
int nvmlDeviceGetComputeRunningProcesses_v2(Dev d, u32 *count, Proc *out) { return running(d, 'C', count, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(Dev d, u32 *count, Proc *out) { return running(d, 'G', count, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(Dev d, u32 *count, Proc *out) { return running(d, 'G', count, out); }
int nvmlDeviceGetMPSComputeRunningProcesses_v3(Dev d, u32 *count, Proc *out) { (void)out; ENTER("procs"); *count = 0; return OK; }
