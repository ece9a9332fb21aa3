"""The failures of a start by what its log says; a table of data.

From vLLM 0.6 to 0.33: its source, public reports and real failing starts. Order counts: of two rows that fit one line
the first is taken. Of several templates the first whose numbers are known is said; ` || ` parts such forms of one advice.
A group called …_word stays text, and is known without that ending. Texts are searched in one line, so that nothing depends on what stands around it.
"""

from __future__ import annotations

import re

from specconsole.load.anchor import Anchored, anchored
from specconsole.load.failure import Failure, Rank, row

_SPEC = {"affects": "speculative_only"}
_UTIL = "raise --gpu-memory-utilization"

FAILURES: tuple[Failure, ...] = (
    # -- memory of the GPU --
    row(
        "kv_cache_too_small", "The KV cache does not fit",
        r"To serve at least one request with the model\S* max\S* seq\S* len\S* \((?P<required_tokens>[\d,]+)\)[, (]+(?P<needed_gib>[\d.]+) Gi?B (?:of )?KV cache"
        r".*?available KV cache memory \((?P<available_gib>[\d.]+) Gi?B\)(?:.*?estimated maximum model length is (?P<estimated_max_len>[\d,]+))?",
        "One request of {required_tokens:,} tokens needs {needed_gib} GiB of KV cache; {available_gib} GiB are there.",
        ("Start it with --max-model-len {estimated_max_len} or less.", f"Or {_UTIL}, if memory is free.",
         "With pipeline parallelism the smallest stage decides: move layers off it (VLLM_PP_LAYER_PARTITION)."),
        "--max-model-len {estimated_max_len}", phase="kv_cache",
    ),
    row(
        "kv_cache_too_small", "The KV cache does not fit",
        r"max seq len \((?P<required_tokens>[\d,]+)\) is larger than the maximum number of tokens that can be stored in KV cache \((?P<capacity_tokens>[\d,]+)\)",
        "One request of {required_tokens:,} tokens does not fit into a KV cache of {capacity_tokens:,} tokens.",
        ("Start it with --max-model-len {capacity_tokens} or less.", f"Or {_UTIL}.",
         "Or turn on chunked prefill (--enable-chunked-prefill): it lowers the peak of activations, so that more is left."),
        "--max-model-len {capacity_tokens}", phase="kv_cache",
    ),
    row(
        "no_kv_memory", "Nothing is left for the KV cache", r"No available memory for the cache blocks",
        "Weights, activations and graphs fill the whole budget of memory.",
        (f"{_UTIL.capitalize()}.", "Or lower --max-num-batched-tokens or --max-num-seqs, or use a smaller drafter.",
         "Or spread the model over more GPUs (--tensor-parallel-size)."), phase="kv_cache",
    ),
    row(
        "gpu_memory_held", "Something else holds the GPU's memory",
        r"Free memory on device(?: (?:cuda:)?(?P<gpu>\d+))? \((?P<free_gib>[\d.]+)/(?P<total_gib>[\d.]+) GiB\) on startup is less than desired GPU memory utilization \((?P<utilization>[\d.]+), (?P<desired_gib>[\d.]+) GiB\)",
        "{free_gib} of {total_gib} GiB are free; {utilization} of it, {desired_gib} GiB, was asked for.",
        ("Stop what holds the memory, or wait until it is gone; then start again.",
         "Or start it with --gpu-memory-utilization {max_utilization_now} or less, if the other process is to stay."), phase="init",
    ),
    row(
        "gpu_memory_changed", "Another process took or freed GPU memory meanwhile",
        r"Error in memory profiling\. ?Initial free memory (?P<before_word>[\d.]+)(?: \w+)?, ?current free memory (?P<after_word>[\d.]+)",
        ("Free memory went from {before} to {after} while vLLM measured it.",),
        "Start it again when nothing else starts or stops on these GPUs.", phase="profile",
    ),
    row("gpu_memory_changed", "Another process took or freed GPU memory meanwhile", r"Error in memory profiling",
        "Free memory changed while vLLM measured it.", "Start it again when nothing else starts or stops on these GPUs.", phase="profile"),
    row(
        "oom", "The GPU's memory is full",
        r"CUDA out of memory occurred when warming up sampler with (?P<max_num_seqs>\d+) dummy requests",
        "No memory was left to warm up the sampler with {max_num_seqs} requests.",
        ("Start it with a --max-num-seqs below {max_num_seqs}, 64 for example.", "Or lower --gpu-memory-utilization or --max-num-seqs, so that more stays free beside the KV cache."),
        "--max-num-seqs 64", phase="warmup",
    ),
    row(
        "oom", "The GPU's memory is full",
        r"CUDA out of memory\. ?Tried to allocate (?:(?P<tried_gib>[\d.]+) GiB|(?P<tried_mib>[\d.]+) MiB)(?:\. GPU (?P<gpu>\d+) has a total capacity of (?P<total_gib>[\d.]+) GiB)?(?:.*?Process (?P<holder_pid>\d+) has (?P<holder_gib>[\d.]+) GiB memory in use)?",
        ("{tried_gib} GiB more did not fit.",),
        ("Process {holder_pid} has {holder_gib} GiB of the same GPU: stop it, if it is no part of this start.",
         "Start it with --kv-cache-memory={suggested_kv_cache_memory}, which vLLM worked out itself.",
         "Start it with a --max-num-seqs below {max_num_seqs}, 64 for example.",
         "Or lower --gpu-memory-utilization or --max-num-seqs, so that more stays free beside the KV cache."),
        "--kv-cache-memory={suggested_kv_cache_memory}",
    ),
    row("oom", "The GPU's memory is full", r"NCCL error.*Failed to CUDA (?:calloc|malloc)|Failed to CUDA calloc|Cuda failure (?:\d+ )?'out of memory'",
        "NCCL found no GPU memory left for its buffers.", "Lower --gpu-memory-utilization a little (0.93 where it was 0.95).", phase="init"),
    row("oom", "The GPU's memory is full", r"(?:CUDA error|Triton Error \[CUDA\]): out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDA out of memory|cudaErrorMemoryAllocation",
        "An allocation on the GPU failed.", "Lower --gpu-memory-utilization or --max-num-seqs."),
    # -- ports --
    row(
        "port_in_use", "A port of the ranks is taken",
        r"server socket has failed to (?:listen|bind).*(?:EADDRINUSE|code: -98|[Aa]ddress already in use)|DistNetworkError.*EADDRINUSE",
        "The rendezvous of the ranks found its port taken; the HTTP port is another one.",
        ("Unset VLLM_PORT and MASTER_PORT, or choose free ones: changing --port does not help.", "Look at the range of ephemeral ports (net.ipv4.ip_local_port_range)."),
        phase="init", facts={"scope": "distributed_init", "http_port_affected": False},
    ),
    row(
        "port_in_use", "A port of the ranks is taken", r"\[?Errno 98\]?.*[Aa]ddress already in use|zmq\.error\.ZMQError: Address already in use",
        "The rendezvous of the ranks found its port taken; the HTTP port is another one.",
        "Unset VLLM_PORT and MASTER_PORT, or choose free ones: changing --port does not help.",
        phase="init", within=r"get_open_port|TCPStore|rendezvous|init_process_group|ZMQError", facts={"scope": "distributed_init", "http_port_affected": False},
    ),
    row(
        "port_in_use", "The port is taken",
        r"\[?Errno (?:98|48)\]?(?: error while attempting to bind on address \('(?P<address_word>[^']*)', (?P<port>\d+)[^)]*\))?:?.{0,40}?[Aa]ddress already in use",
        ("Another server has port {port}: vLLM binds it before it loads, and gave up at once.", "Another server has the port: vLLM binds it before it loads, and gave up at once."),
        "Stop the other unit that has port {port}, or give this one another --port. || Stop the other unit, or give this one another --port.",
        phase="config", facts={"scope": "http"},
    ),
    # -- shared memory, disks, files, limits --
    row(
        "shm_full", "Shared memory is full",
        r"[Ee]rror while creating shared memory segment (?P<segment_word>\S+) \(size (?P<segment_bytes>\d+)\).*No space left",
        "NCCL could not make {segment} of {segment_bytes:,} bytes.",
        ("Remove what ended processes left there ({stale_segments} segments of nobody): /dev/shm/nccl-* and psm_*. || Remove what ended processes left there: /dev/shm/nccl-* and psm_* that nobody maps.",
         "Or make it larger (mount -o remount,size=…, or the container's --shm-size)."), phase="init",
    ),
    row(
        "shm_full", "Shared memory is full",
        r"Insufficient space in /dev/shm(?: for (?P<for_word>[^:]+))?: (?P<required_mib>[\d.]+) MiB required, (?P<free_mib>[\d.]+) MiB free",
        "{required_mib} MiB are needed there, {free_mib} MiB are free.",
        ("Remove what ended processes left there: /dev/shm/nccl-* and psm_* that nobody maps.", "Or make it larger (--shm-size or --ipc=host for a container)."), phase="init",
    ),
    row("shm_full", "Shared memory is full", r"posix_fallocate failed ?: No space left on device|\(size \d+\), error: No space left on device", "NCCL found no place for its segments in /dev/shm.",
        ("Remove what ended processes left there: /dev/shm/nccl-* and psm_* that nobody maps.", "Or make it larger (--shm-size or --ipc=host for a container)."), phase="init"),
    row("shm_full", "Shared memory is full", r"No space left on device.*(?:/dev/shm|/psm_|/nccl-)|(?:/dev/shm|/psm_|/nccl-).*No space left on device",
        "A segment of shared memory could not be made.", ("Remove what ended processes left there: /dev/shm/nccl-* and psm_* that nobody maps.", "Or make it larger (--shm-size for a container).")),
    row("shm_full", "Shared memory is full", r"bus error encountered in worker|Bus error.*(?:\bshm\b|shared memory)", "A worker was ended by a bus error: a page of shared memory could not be had.",
        ("Remove what ended processes left there: /dev/shm/nccl-* and psm_* that nobody maps.", "Or make it larger (--shm-size or --ipc=host for a container).")),
    row("disk_full", "The disk is full", r"No space left on device(?: \(os error 28\))?(?:: '(?P<path_word>[^']+)')?|Disk quota exceeded|os error 122\b",
        ("There is no space left for {path}.", "There is no space left on the device."), "Make space, or point HF_HOME, VLLM_CACHE_ROOT or TMPDIR to another disk."),
    row("too_many_files", "Too many open files", r"^(?!.*(?:ulimit of|can cause)).*\[Errno 24\] Too many open files", "The limit of open files was reached.", "Set LimitNOFILE=1048576 in the unit.", "LimitNOFILE=1048576"),
    row("task_limit", "No more processes or threads are allowed", r"can't start new thread|Resource temporarily unavailable|pthread_create failed", "The kernel refused a new thread.", "Raise TasksMax= in the unit, or LimitNPROC=.", "TasksMax=infinity"),
    row("memlock", "Too little memory may be locked", r"ibv_(?:reg_mr|create_\w+)\S* failed.*Cannot allocate memory", "InfiniBand needs memory that stays in place, and the unit's limit of it is too low.", "Set LimitMEMLOCK=infinity in the unit (--ulimit memlock=-1 for a container).", "LimitMEMLOCK=infinity", phase="init"),
    row("host_memory", "The swap space is larger than the host's memory", r"Too large swap space\. (?P<asked_gib>[\d.]+) GiB out of the (?P<memory_gib>[\d.]+) GiB", "{asked_gib} GiB of the host's {memory_gib} GiB were asked for, all GPUs together.", "Lower --swap-space.", phase="config"),
    row("host_memory", "The host's memory is full", r"\[Errno 12\] Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator: (?:can't|not enough) .*memory|^MemoryError\b",
        "An allocation in the host's memory failed.", ("Free memory on the host, or raise MemoryMax= of the unit.", "Lower --swap-space or --cpu-offload-gb.")),
    row("host_oom", "The host ran out of memory", r"(?:Workers \(tasks / actors\)|Task was) killed due to (?:memory pressure|the node running low on memory)", "Ray ended a worker, since the host's memory was nearly full.", ("Free memory on that node, or raise the container's limit.", "Lower --swap-space or --cpu-offload-gb; prefetching loaders need the checkpoint's size in memory.")),
    row("port_not_permitted", "The port may not be used", r"PermissionError: \[Errno 13\]|[Pp]ermission denied", "Ports below 1024 are for root alone: the unit's user may not bind this one.",
        ("Choose a --port of 1024 or more.", "Or set AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit."), phase="config", within=r"\.bind\(|attempting to bind"),
    row("not_permitted", "A file system is read-only", r"\[Errno 30\] Read-only file system(?:: '(?P<path_word>[^']+)')?", ("Nothing may be written at {path}.", "Nothing may be written there."), "Point HF_HOME, VLLM_CACHE_ROOT or TMPDIR to a folder that may be written, or allow it in the unit (ReadWritePaths=, ProtectHome=)."),
    row("not_permitted", "A file may not be used", r"PermissionError: \[Errno 13\] Permission denied(?:: '(?P<path_word>[^']+)')?",
        ("The unit's user may not use {path}.", "The unit's user may not use a file."), "Give User= of the unit the rights, or point the path elsewhere (HF_HOME, VLLM_CACHE_ROOT)."),
    # -- the model's files --
    row("model_not_found", "The model is not there", r"HFValidationError: Repo id must (?:be in the form|use alphanumeric).*?: '(?P<model_word>[^']*)'",
        "{model} is no folder of this host, and no name of a repository.", "Correct the model's path in the unit, or mount the disk it is on."),
    row("model_not_found", "The model is not there", r"Invalid repository ID or local directory specified: '?(?P<model_word>[^'\s]+)", "{model} is no folder with a config, and no repository.", "Correct the model's path in the unit, or mount the disk it is on."),
    row("model_not_found", "The model is not there", r"Cannot find the config file for '?(?P<model_word>[^'\s]+)|(?:Error: |^)(?P<path_word>\S{1,200}) does not appear to have a file named config\.json|Can't load the configuration of '(?P<name_word>[^']+)'",
        ("No config of {model} was found.", "No config was found at {path}.", "No config of {name} was found."), "Correct the model's path in the unit, or mount the disk it is on."),
    row("model_not_found", "The hub has no such file or revision", r"(?:Entry|Revision) Not Found for url: (?P<url_word>\S{1,300}?)\.?(?:\s|$)|\bEntryNotFoundError|RevisionNotFoundError|(?P<revision_word>\S{1,100}) is not a valid git identifier", ("It has no {url}.", "It has no revision {revision}.", "It has not what was asked for."), "Look at the model's page: its name, --revision, and whether its format is one that vLLM reads."),
    row("model_not_permitted", "The hub does not give out the model", r"GatedRepoError|40[13] Client Error|Client error '40[13] |[Gg]ated repo|is awaiting a review|Access to model \S+ is restricted|Invalid (?:username or password|user token)|is not a local folder and is not a valid model identifier|RepositoryNotFoundError",
        "The model is gated, private or misspelt.", "Give the unit a token that may read it (HF_TOKEN), or load it from a folder."),
    row("hub_unreachable", "The hub does not serve now", r"(?P<status_word>429) (?:Client Error|Too Many Requests)|(?P<code_word>50[0-4]) Server Error.{0,200}(?:huggingface|hf\.co|modelscope)", ("It answers 429, too many requests: wait, or give a token, which is allowed more.", "It answers {code}."), "Fetch the model before the start, or give the unit its path and HF_HUB_OFFLINE=1."),
    row("hub_unreachable", "The hub's certificate is not trusted", r"CERTIFICATE_VERIFY_FAILED", "A proxy on the way shows a certificate of its own, most likely.", ("Give the unit its root certificate (SSL_CERT_FILE, REQUESTS_CA_BUNDLE).", "Or fetch the model before the start and give the unit its path and HF_HUB_OFFLINE=1.")),
    row("hub_unreachable", "The hub cannot be reached", r"couldn't connect to 'https?://|httpx\.(?:Connect|Read|Proxy|RemoteProtocol)\w*|ProxyError|appropriate (?:cached )?snapshot folder|Read timed out|ReadTimeout\b|LocalEntryNotFoundError|offline mode is enabled|OfflineModeIsEnabled|(?:Max retries exceeded|NameResolutionError|Temporary failure in name resolution|ConnectTimeout).*",
        "Files are missing on this host, and the hub does not answer.", "Fetch the model before the start, or give the unit its path and HF_HUB_OFFLINE=1."),
    row("checkpoint_broken", "A file of the checkpoint is broken", r"SafetensorError|HeaderTooLarge|InvalidHeaderDeserialization|MetadataIncompleteBuffer|invalid load key|PytorchStreamReader failed",
        "A shard cannot be read: cut, or a pointer in place of the file (git-lfs).", "Compare the shards' sizes with the hub's, and fetch the broken one again.", phase="weights"),
    row("weights_mismatch", "The checkpoint does not fit the model's code", r"KeyError: '(?P<tensor_word>[\w.]{1,200}\.(?:weight|bias|q\w{1,20}|\w{0,40}scale\w{0,20}|g_idx))'|no module or parameter named '(?P<module_word>[^']{1,200})' in|Following weights were not initialized from checkpoint|Attempted to load weight \(torch\.Size|size mismatch for (?P<name_word>[\w.]{1,200})",
        ("The checkpoint holds {tensor}, which this version does not know.", "The checkpoint holds {module}, which this version does not know.", "The size of {name} is another one.", "Names or sizes in the checkpoint are others than this version expects."),
        ("Upgrade vLLM, or take a checkpoint that was made for it; look whether the quantisation is the one in its config.",), phase="weights"),
    row("mtp_weights_missing", "The checkpoint has no layer for MTP", r"MTP speculative decoding layer (?P<layer>\d+) weights missing from checkpoint",
        "Layer {layer} for multi-token prediction is not in this checkpoint; quantised ones often leave it out.", "Use the baseline unit, another method (ngram, eagle3), or a checkpoint with the layer.", phase="weights", facts=_SPEC),
    row("no_safetensors", "The folder holds no weights", r"Cannot find any model weights with|No (?:safetensors|\.bin|model) (?:files|weights) (?:were )?found", "The model's folder has no weights.", "Look whether the download was finished.", phase="weights"),
    row("tokenizer_missing", "The tokenizer cannot be loaded", r"Couldn't instantiate the backend tokenizer|Can't load (?:the )?tokenizer for '(?P<model_word>[^']+)'|Failed to load the tokenizer|(?:sentencepiece|tiktoken).{0,60}(?:not installed|is required)|requires the (?P<package_word>SentencePiece|tiktoken|protobuf) library",
        ("No usable tokenizer was found for {model}.", "The tokenizer needs {package}, which is not installed.", "Its files are missing, or the package that reads them is (sentencepiece, tiktoken)."),
        ("Look for tokenizer.json (or tokenizer.model) beside the weights, or name another with --tokenizer.", "Install what reads it (sentencepiece, tiktoken) beside vLLM."), phase="config"),
    row("package_version", "transformers is too new for this vLLM", r"has no attribute '?all_special_tokens_extended", "transformers 5 is installed; this vLLM was made for 4.", ("Install transformers below 5 beside vLLM, or upgrade vLLM.",), phase="config"),
    row("package_version", "The tokenizer is of a newer release", r"did not match any variant of untagged enum|Tokenizer class (?P<class_word>\S+) does not exist or is not currently imported", ("The installed transformers does not know {class}.", "The installed tokenizers cannot read tokenizer.json."), "Upgrade transformers, tokenizers and vLLM together, to what the model's page asks for.", phase="config"),
    row("package_version", "Two packages do not fit one another", r"ImportError: cannot import name '(?P<symbol_word>\w+)' from (?:partially initialized module )?'(?P<package_word>[\w.]+)'", "{package} has no {symbol}: it is of another release than is expected.", ("Install the releases that this vLLM asks for, in a fresh environment (pip check names what differs).",), phase="config"),
    row("trust_remote_code", "The model brings code of its own", r"trust_remote_code=True|--trust-remote-code", "Its configuration is code, which may only run when allowed.", "Add --trust-remote-code, if you trust where the model comes from.", "--trust-remote-code", within=r"Error|error"),
    # -- arguments --
    row("max_len_over_config", "The asked length is above the model's",
        r"[Uu]ser-specified max_model_len \((?P<required_tokens>[\d,]+)\) is greater than the derived max_model_len \(\w+=(?P<derived_tokens>\d+)",
        "{required_tokens:,} tokens were asked for; the model was made for {derived_tokens:,}.", "Start it with --max-model-len {derived_tokens} or less.", "--max-model-len {derived_tokens}", phase="config"),
    row("spec_lookup_range", "The n-gram range is the wrong way round", r"prompt_lookup_min=(?P<lookup_min>\d+) must be <= prompt_lookup_max=(?P<lookup_max>\d+)",
        "prompt_lookup_min {lookup_min} is above prompt_lookup_max {lookup_max}.", "Set prompt_lookup_min to {lookup_max} or less in --speculative-config.", phase="config", facts=_SPEC),
    row("spec_tokens_missing", "The number of drafted tokens is missing", r"num_speculative_tokens must be provided", "The drafter does not say how many tokens to draft.", "Add num_speculative_tokens to --speculative-config.", phase="config", facts=_SPEC),
    row("spec_model_missing", "The drafter is missing", r"num_speculative_tokens was provided but without speculative model", "A number of tokens is given, and neither model nor method.", "Add method or model to --speculative-config.", phase="config", facts=_SPEC),
    row("spec_tokens_multiple", "The number of drafted tokens does not fit the model", r"num_speculative_tokens:?=?(?P<k>\d+) must be divisible by n_predict=(?P<n_predict>\d+)",
        "{k} is no multiple of the {n_predict} that the model predicts at once.", "Set num_speculative_tokens to a multiple of {n_predict}.", phase="config", facts=_SPEC),
    row("spec_parallel", "The drafter's parallelism does not fit", r"draft_tensor_parallel_size=(?P<draft_tp>\S+) cannot be other value than 1 or target", "A drafter runs on one GPU or on all of the target's.", "Set draft_tensor_parallel_size to 1 or to the target's.", phase="config", facts=_SPEC),
    row("spec_parallel", "The drafter's parallelism does not fit", r"'tensor_parallel_size' is not a valid argument", "In --speculative-config it is called draft_tensor_parallel_size.", "Rename tensor_parallel_size to draft_tensor_parallel_size.", phase="config", facts=_SPEC),
    row("drafter_vocabulary", "The drafter has another vocabulary", r"Target and draft model should have the same vocabulary size", "Target and drafter do not share a vocabulary.", "Use a drafter that was made for this model, or the baseline unit.", facts=_SPEC),
    row("spec_method_unknown", "This version does not draft with a model of its own", r"Speculative decoding with draft model is not supported yet", "A separate draft model came to the V1 engine late.", "Use ngram, eagle, eagle3 or mtp, or upgrade vLLM.", phase="config", facts=_SPEC),
    row("spec_method_unknown", "This version does not know the method", r"(?:Unsupported speculative method|Unknown speculative decoding method): ?'?(?P<method_word>[^'\s]+)", "{method} is not known to this version of vLLM.", "Use another method, or a version that knows it.", phase="config", facts=_SPEC),
    row("eagle3_unsupported", "EAGLE-3 does not go with this model here", r"[Ee]agle-?3 is only supported for|EAGLE-3 speculative decoding requires the language model to support",
        "This version runs EAGLE-3 with other models only (Kimi-K2.5 from 0.18.0 on).", "Upgrade vLLM, or use the baseline unit or ngram meanwhile.", facts=_SPEC),
    row("suffix_needs_package", "Suffix decoding needs another package", r"Arctic Inference is required for suffix decoding", "arctic-inference is not installed.", "Install arctic-inference==0.1.1 beside vLLM, or use ngram.", facts=_SPEC, phase="config"),
    row("unsupported_combination", "Speculation does not go with data parallelism here", r"Prometheus metrics with Spec Decoding with >1 EngineCore",
        "This version cannot count speculation over several engines; 0.10.2 can.", ("Upgrade to 0.10.2 or later.", "Or run one engine (--data-parallel-size 1), or --disable-log-stats, which gives up all metrics."),
        phase="config", facts={"features": "data_parallel, speculative_decoding", "fixed_in": "0.10.2", **_SPEC}),
    row("unsupported_combination", "Speculation does not go with pipeline parallelism here", r"[Ss]peculative decoding is (?:currently )?incompatible with pipeline parallelism|with pipeline parallel is not supported|ModelRunner' object has no attribute 'drafter'",
        "This version does not draft over pipeline stages.", "Use tensor parallelism alone, or the baseline unit.", facts={"features": "pipeline_parallel, speculative_decoding", **_SPEC}),
    row("unsupported_combination", "Speculation does not go with async scheduling here", r"speculative decoding is not supported with async scheduling|async scheduling is only supported with EAGLE/MTP",
        "This version schedules asynchronously only without this method.", "Remove --async-scheduling.", phase="config", facts={"features": "async_scheduling, speculative_decoding", **_SPEC}),
    row("unsupported_combination", "Speculation does not go with the V0 engine", r"Speculative decoding is not supported on vLLM V0", "The V0 engine of this version does not draft.", "Remove VLLM_USE_V1=0.", phase="config", facts={"features": "v0_engine, speculative_decoding", **_SPEC}),
    row("unsupported_combination", "The model runner does not do this", r"Model Runner V2 does not (?:yet )?support: (?P<features_word>(?=[^\[]*(?:specul|draft))[^\[]+?)(?: \[type=.*)?$",
        "Model runner V2 of this version does not do: {features}.", "Set VLLM_USE_V2_MODEL_RUNNER=0 in the unit: the runner before it may.", "VLLM_USE_V2_MODEL_RUNNER=0", phase="config", facts=_SPEC),
    row("unsupported_combination", "The model runner does not do this", r"Model Runner V2 does not (?:yet )?support: (?P<features_word>[^\[]+?)(?: \[type=.*)?$",
        "Model runner V2 of this version does not do: {features}.", "Set VLLM_USE_V2_MODEL_RUNNER=0 in the unit: the runner before it may.", "VLLM_USE_V2_MODEL_RUNNER=0", phase="config"),
    row("heads_not_divisible", "The model cannot be split so", r"Total number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size \((?P<tp>\d+)\)", "{heads} attention heads do not divide into {tp} parts.", "Choose a --tensor-parallel-size that divides {heads}.", phase="config"),
    row("too_few_gpus", "There are too few GPUs", r"(?:World size \((?P<wanted>\d+)\) is larger than the number of available GPUs \((?P<there>\d+)\)|[Tt]ensor parallel size \((?P<asked>\d+)\) cannot be larger than the number of available GPUs \((?P<have>\d+)\)|number of required GPUs exceeds the total number of available GPUs|local world size \((?P<ranks>\d+)\) must be less than or equal to the number of visible devices \((?P<visible>\d+)\)|local rank \d+ is out of bounds|invalid device ordinal)",
        ("{ranks} GPUs are needed, {visible} are visible.", "{wanted} GPUs are needed, {there} are there.", "{asked} GPUs are needed, {have} are there.", "More GPUs are needed than are visible."), "Lower --tensor-parallel-size, or look at CUDA_VISIBLE_DEVICES.", phase="init"),
    row("dropped_option", "An option is not known to this version", r"error: unrecognized arguments: (?P<arguments_word>.+)", "vLLM does not know {arguments}.", "Remove or rename it; speculation is given by --speculative-config since 0.8.3.", phase="config"),
    row("bad_option", "An option's value is wrong", r"error: argument (?P<option_word>\S+?):? (?P<why_word>.+)", "{option}: {why}", "Correct it in the unit's ExecStart.", phase="config"),
    row("bad_option", "An option's value is wrong", r"(?P<option_word>(?:[Tt]ool|[Rr]easoning) parser) '(?P<why_word>[^']+)' not found", "{option}: {why} is not known to this version.", "Choose one of those that are listed."),
    row("bad_option", "An option's value is wrong", r"chat template string \((?P<option_word>[^)]{1,300})\) appears path-like", "There is no chat template at {option}.", "Correct the path in --chat-template.", phase="config"),
    row("bad_option", "An option's value is wrong", r"invalid (?P<option_word>(?:tool call|reasoning) parser): (?P<why_word>.+)", "{option}: {why}", "Choose one of those that are listed.", phase="config"),
    row("unsupported_model", "This version does not know the model", r"Model architectures \[(?P<architecture_word>[^\]]+)\] (?:are not supported|failed to be inspected)", "{architecture} is not known to this version of vLLM.", "Upgrade vLLM (Kimi-K2.5 needs 0.16.0 or later).", phase="config"),
    row("unsupported_model", "This version does not know the model", r"GGUF model with architecture (?P<architecture_word>\S+) is not supported", "{architecture} is not known as GGUF.", "Take a checkpoint in safetensors, or upgrade vLLM and transformers.", phase="config"),
    row("unsupported_model", "transformers does not know the model", r"model (?:of )?type `(?P<architecture_word>[^`]+)` but Transformers does not recognize", "{architecture} is not known to the installed transformers.", "Upgrade transformers and vLLM together.", phase="config"),
    row("quantization_unknown", "The quantisation is not known", r"Unknown quantization method: '?(?P<method_word>[^'\s.]+)|(?P<tool_word>ModelOpt) currently only supports", ("{method} is not known to this version of vLLM.", "This kind of {tool}'s quantisation is not known to this version of vLLM."), "Upgrade vLLM, or take another checkpoint.", phase="config"),
    row("quantization_unsupported", "The quantisation does not run on this GPU", r"(?:is not supported for the current GPU\.|is not supported for ', 'the current GPU\.) Min(?:imum)? capability:? ?(?P<needed_word>\d+(?:\.\d+)?)", "It needs a GPU of capability {needed}.", "Take a checkpoint in another format.", phase="config"),
    row("quantization_unsupported", "The quantisation does not run on this GPU", r"type (?P<type_word>fp8\w+) not supported in this architecture", "The GPU does not compute with {type}; it takes capability 8.9 or later.", ("Drop --kv-cache-dtype fp8 where that asks for it.", "Else take a checkpoint in another format.")),
    row("quantization_shape", "The quantised weights do not divide so", r"= (?P<size>\d+) is not divisible by (?:min_thread_[nk]|weight quantization block_[nk]|group_size) ?= (?P<block>\d+)", "A GPU's part of {size} is no multiple of the {block} that the kernel takes at once.",
        ("Lower --tensor-parallel-size.", "For experts: --enable-expert-parallel, which leaves each of them whole."), phase="weights"),
    row("no_attention_backend", "No attention kernel fits", r"No valid attention backend found|Sinks are only supported in ", "No backend takes this model, cache type and GPU together.", "Drop --kv-cache-dtype fp8, or choose a backend from the reasons given (--attention-backend).", phase="init"),
    row("dtype_unsupported", "The quantisation does not go with the data type", r"(?P<type_word>torch\.\w+) is not supported for quantization method (?P<method_word>\w+)\. Supported dtypes: \[(?P<types_word>[^\]]+)\]", "{method} takes {types}, not {type}.", "Start it with --dtype half.", "--dtype half", phase="config"),
    row("dtype_unsupported", "The GPU does not know the data type", r"[Bb]float16 is only supported on GPUs with compute capability of at least (?P<needed_word>\d+\.\d)\.? Your (?P<gpu_word>.+?) (?:GPU|device) has compute capability (?P<capability_word>\d+\.\d)",
        "{gpu} has capability {capability}; bfloat16 needs {needed}.", "Start it with --dtype half.", "--dtype half", phase="config"),
    row("bad_configuration", "The configuration is not valid", r"(?P<why_word>max_num_batched_tokens \(\d+\) (?:is smaller than|must be greater than or equal to) [^.]+)", "{why}", "Raise --max-num-batched-tokens, lower --max-model-len, or turn on chunked prefill.", phase="config"),
    row("bad_configuration", "The configuration is not valid", r"(?P<why_word>Input should be .{1,300}?|Unexpected keyword argument|Extra inputs are not permitted) \[type=\w+, input_value=(?P<given_word>.{1,200}?), input_type=", "{given} was given: {why}.", "Correct it in the unit's ExecStart, or in --speculative-config if it is an option of the drafter.", phase="config"),
    row("bad_configuration", "The configuration is not valid", r"\b(?P<count>\d{1,6}) validation errors? for (?P<config_word>SpeculativeConfig)", "{config} does not accept what was given.", "Correct it in the unit's ExecStart.", phase="config", facts=_SPEC, rank=Rank.WRAPPER),
    row("bad_configuration", "The configuration is not valid", r"^\s*Value error, (?P<why_word>.+?)(?: \[type=.*)?$", "{why}", "Correct it in the unit's ExecStart.", phase="config"),
    row("bad_configuration", "The configuration is not valid", r"\b(?P<count>\d{1,6}) validation errors? for (?P<config_word>\w+)", "{config} does not accept what was given.", "Correct it in the unit's ExecStart.", phase="config", rank=Rank.WRAPPER),
    # -- compilers and kernels --
    row("jit_toolchain_too_old", "The CUDA toolkit is too old for this GPU", r"FlashInfer requires GPUs with sm75 or higher",
        ("The text misleads: the GPU ({gpu_arch}) is new enough; the toolkit {toolkit} does not know it.", "The text misleads: on a newer GPU it means that the local CUDA toolkit does not know it."),
        ("Start it with VLLM_USE_FLASHINFER_SAMPLER=0.", "Or install a CUDA toolkit of 12.9 or later."), "VLLM_USE_FLASHINFER_SAMPLER=0", phase="warmup"),
    row("jit_toolchain_too_old", "The CUDA toolkit is too old for this GPU", r"(?:nvcc fatal\s*: Unsupported gpu architecture|ptxas (?:fatal|error)).*?(?P<gpu_arch>(?:sm|compute)_\w+)", "It cannot compile for {gpu_arch}.", "Install a newer CUDA toolkit (12.9 or later for sm_120), or point CUDA_HOME to it."),
    row("jit_toolchain_too_old", "The compiler for GPU code does not fit", r"PTXASError|Internal Triton PTX codegen error|provided PTX was compiled with an unsupported toolchain", ("Triton's ptxas does not know {gpu_arch}.", "Triton's ptxas or the driver is older than the code it is given."), "Upgrade the driver, or set TRITON_PTXAS_PATH to a newer ptxas."),
    row("jit_build_failed", "A kernel could not be compiled: no nvcc", r"(?:^|: )(?P<program_word>\S{0,200}nvcc): (?:command )?not found|No such file or directory: '(?P<path_word>[^']*nvcc)'|Could not find nvcc|CUDA_HOME environment variable is not set",
        ("{program} is not there; a unit's PATH and CUDA_HOME differ from those of a login.", "{path} is not there; a unit's PATH and CUDA_HOME differ from those of a login.", "nvcc was not found; a unit's PATH and CUDA_HOME differ from those of a login."),
        ("Set Environment=CUDA_HOME=… and PATH in the unit, or install the CUDA toolkit.", "Or start it with VLLM_USE_FLASHINFER_SAMPLER=0, if it is FlashInfer's sampler."), "VLLM_USE_FLASHINFER_SAMPLER=0", phase="warmup", facts={"detail": "nvcc_not_found"}),
    row("jit_build_failed", "A kernel could not be compiled: no ninja", r"ninja: (?:command )?not found|No such file or directory: '(?P<path_word>[^']*ninja)'|Ninja is required to load", "ninja is not in the unit's PATH.", "Install ninja beside vLLM, or add its folder to PATH in the unit.", phase="warmup", facts={"detail": "ninja_not_found"}),
    row("jit_build_failed", "A kernel could not be compiled: no C compiler", r"Failed to find C compiler|(?:gcc|g\+\+|cc1plus|c\+\+): (?:command )?not found", "There is no C compiler in the unit's PATH.", "Install gcc and g++, or set CC in the unit.", facts={"detail": "compiler_not_found"}),
    row("jit_build_failed", "A kernel could not be compiled: a header is missing", r"fatal error: (?P<header_word>\S+\.h\S*): No such file", "{header} is missing.", "Install the header's package (python3-dev for Python.h, the CUDA toolkit for cuda's).", facts={"detail": "header_missing"}),
    row("jit_build_failed", "A kernel could not be compiled: a library is missing", r"cannot find -l(?P<library_word>\w+)", "lib{library} was not found by the linker.", "Set LIBRARY_PATH to its folder in the unit (that of libcuda.so for -lcuda), or install its package.", facts={"detail": "library_missing"}),
    row("jit_build_failed", "A kernel could not be compiled", r"ninja: build stopped|Ninja build failed|Error building extension '?(?P<extension_word>[^'\s:]*)|CalledProcessError: Command .*(?:nvcc|ninja|gcc)", "The compiler's own message stands before this line.", "Read the lines before it; a unit's PATH and CUDA_HOME differ from those of a login.", rank=Rank.WRAPPER),
    row("jit_toolchain_too_old", "The compiler for GPU code does not know this GPU", r"nvrtc: error: invalid value for --gpu-architecture|Triton Error \[CUDA\]: device kernel image is invalid", "What it compiled does not fit this GPU, or the driver cannot load it.", ("Upgrade the driver, torch and Triton together to releases that know this GPU.", "Then clear the caches (~/.triton, ~/.cache/vllm, ~/.cache/flashinfer).")),
    row("jit_build_failed", "A kernel could not be compiled", r"NVCC compilation failed|NVRTC compilation failed", "DeepGEMM's own compiler call failed; its message stands before this line.", ("Set Environment=CUDA_HOME=… in the unit to a CUDA toolkit of 12.8 or later.", "Or start it with VLLM_USE_DEEP_GEMM=0."), "VLLM_USE_DEEP_GEMM=0", rank=Rank.WRAPPER),
    row("jit_build_failed", "Triton finds no libcuda.so", r"libcuda\.so cannot found", "The driver's library is not where Triton looks for it.", ("Run ldconfig as root, or set TRITON_LIBCUDA_PATH in the unit to the folder of libcuda.so.1.",), facts={"detail": "library_missing"}),
    row("kernel_resources", "A kernel asks for more than this GPU has", r"out of resources?: (?P<what_word>[\w ]{1,40}), Required: (?P<required>\d+), Hardware limit: (?P<limit>\d+)", "It asks for {required:,} of {what}; this GPU has {limit:,}.", "Choose another backend for that kernel (--attention-backend), or upgrade vLLM to one that is tuned for this GPU."),
    row("no_kernel_image", "This build has no code for this GPU", r"no kernel image is available for execution on the device", "The wheel was not compiled for this GPU.", "Install a build that has its architecture (sm_120 needs vLLM 0.9.2 or later on CUDA 12.8)."),
    row("module_missing", "A Python package is missing", r"ModuleNotFoundError: No module named '(?P<module_word>flashinfer[^']*)'", "{module} is not installed, and the sampler or attention needs it.", ("Start it with VLLM_USE_FLASHINFER_SAMPLER=0.", "Or install flashinfer-python beside vLLM."), "VLLM_USE_FLASHINFER_SAMPLER=0"),
    row("module_missing", "A Python package is missing", r"ModuleNotFoundError: No module named '(?P<module_word>[^']+)'", "{module} is not installed.", "Install it beside vLLM, and look whether ExecStart uses the right environment."),
    row("broken_install", "A library does not fit", r"ImportError: (?!lib(?:cuda|nvidia-ml)\.so\.1)(?P<library_word>\S+?\.so[\d.]*): (?P<why_word>undefined symbol\S*|cannot open shared object file)", "{library}: {why}", "Reinstall vLLM and torch together in a fresh environment; LD_LIBRARY_PATH may lead elsewhere."),
    # -- driver and GPU --
    row("fabric_not_ready", "The NVSwitch fabric is not up", r"Error (?P<cuda_error>802): system not yet initialized|(?P<code_word>cudaErrorSystemNotReady)", "CUDA gave error 802: the fabric manager has not finished.", ("Look at nvidia-fabricmanager (systemctl status), and start again once Fabric State is Completed.", "If it stays so for five minutes, reboot the node."), phase="config", facts={"cuda_error": 802}),
    row("driver_library_mismatch", "Driver and library differ", r"[Dd]river/library version mismatch|NVMLError_LibRmVersionMismatch|NVML/RM version mismatch", "The driver's library was upgraded under the running kernel module; new starts fail until it is loaded anew.", "Reboot, or reload the nvidia modules when nothing uses them."),
    row("driver_library_mismatch", "Driver and library differ", r"Error (?P<cuda_error>803)\b|cudaErrorSystemDriverMismatch|unsupported display driver / cuda driver combination",
        "CUDA gave error 803: libcuda is not of the release of the loaded kernel module.",
        ("Compare /proc/driver/nvidia/version with the libcuda.so that is used: a container's, or cuda-compat in LD_LIBRARY_PATH.", "After an upgrade of the driver: reboot, or reload the nvidia modules when nothing uses them."), facts={"cuda_error": 803}),
    row("driver_not_loaded", "The NVIDIA driver does not answer", r"couldn't communicate with the NVIDIA driver|NVML: Driver Not Loaded|nvml error: driver not loaded", "The kernel module is not loaded.", "Load it (modprobe nvidia), or reboot after a kernel update."),
    row("driver_too_old", "The NVIDIA driver is too old", r"Error (?P<cuda_error>804)\b|forward compatibility was attempted on non supported HW", "CUDA gave error 804: the CUDA in use is newer than the driver, and this GPU is not one of those that cuda-compat serves.",
        ("Upgrade the driver.", "Or take cuda-compat (/usr/local/cuda/compat) out of LD_LIBRARY_PATH, or use an image for an older CUDA."), facts={"cuda_error": 804}),
    row("driver_too_old", "The NVIDIA driver is too old", r"unsatisfied condition: cuda ?>= ?(?P<wanted_word>\d[\d.]*)", "The image asks for a driver that knows CUDA {wanted}.", ("Upgrade the driver, or take an image for an older CUDA.",), phase="config"),
    row("driver_too_old", "The NVIDIA driver is too old", r"CUDA driver version is insufficient|driver on your system is too old|cudaErrorInsufficientDriver", "The driver is older than the CUDA that vLLM was built for.", "Upgrade the driver, or install a vLLM built for an older CUDA."),
    row("gpu_lost", "A GPU is lost", r"GPU is lost|fallen off the bus|Unable to (?:determine|detect) the device handle for GPU ?(?P<pci_word>[\w:.]+)?", ("GPU {pci} does not answer any more.", "A GPU does not answer any more."), "Look for Xid 79 in dmesg; reboot the node, and have the card looked at if it comes back."),
    row("fabric_version", "Fabric manager and driver differ", r"[Ff]abric manager NVIDIA GPU driver interface version (?P<fabric_word>\d[\d.]*\d) don't match with driver version (?P<driver_word>\d[\d.]*\d)", "The fabric manager is {fabric}, the driver {driver}: it does not start, and CUDA gives error 802.", "Install the nvidia-fabricmanager of {driver}, start it, then the unit."),
    row("nvml_error", "The driver's library does not answer", r"NVMLError_(?!GpuIsLost|DriverNotLoaded|LibRm)(?P<what_word>\w+)", "NVML says {what}.", ("Look at nvidia-smi on the host.", "Where it works there and not in the container: start the container anew; a daemon-reload of systemd takes its devices away.")),
    row("mig_by_name", "The GPU is told by a name that this version cannot read", r"invalid literal for int\(\) with base 10: '(?P<device_word>(?:MIG|GPU)-[^']{1,100})'", "CUDA_VISIBLE_DEVICES holds {device}, and this version wants numbers there.", ("Give the number instead (CUDA_VISIBLE_DEVICES=0 where the container sees that one alone).", "Or upgrade vLLM."), phase="config"),
    row("gpu_busy", "A GPU is taken by another process alone", r"CUDA-capable device\(s\) is/are busy or unavailable", "Its compute mode lets one process in, or a process hangs in it.", ("Look at who uses it (nvidia-smi), and at nvidia-smi -q -d COMPUTE.", "A process in state D or R in the driver needs a reboot.")),
    row("driver_error", "The driver cannot give out its GPUs", r"Error (?P<cuda_error>999): unknown error|CUDA unknown error", "CUDA gave error 999: nvidia_uvm is missing or broken, after a suspend or an upgrade for instance.", ("Reload nvidia_uvm (modprobe), or reboot; in a container look for /dev/nvidia-uvm.",), facts={"cuda_error": 999}),
    row("no_gpu", "The container gets no GPU", r"could not select device driver \S* ?with capabilities: \[\[gpu\]\]", "Docker has no runtime for NVIDIA's GPUs.", ("Install nvidia-container-toolkit, run: nvidia-ctk runtime configure, and restart docker.",), phase="config"),
    row("no_gpu", "No GPU is visible", r"node has no GPU available|No CUDA GPUs are available|no CUDA-capable device is detected|Failed to infer device type|(?<!')lib(?:cuda|nvidia-ml)\.so\.1: cannot open shared object file", "vLLM found no GPU to run on.", "Look at nvidia-smi, CUDA_VISIBLE_DEVICES and DevicePolicy= of the unit."),
    row("gpu_fault", "The GPU had a fault", r"uncorrectable (?P<what_word>ECC|NVLink) error", "CUDA reports an uncorrectable {what} error: the hardware, not the program.",
        ("Drain the node, look at dmesg for the Xid and at nvidia-smi -q -d ECC,ROW_REMAPPER, and reset the GPU or reboot.", "If it comes back, have the card looked at.")),
    row("gpu_error", "The GPU stopped with an error", r"(?:(?:CUDA error|CUDA Error|Triton Error \[CUDA\]): |Cuda error \S{1,200} ')(?P<what_word>an illegal memory access|device-side assert|unspecified launch failure|misaligned address|illegal instruction|device kernel image is invalid|unknown error|hardware stack error)[^.]*", "CUDA says: {what}.", ("Look for an Xid in dmesg.", "Start it with CUDA_LAUNCH_BLOCKING=1 to see which kernel it is."), "CUDA_LAUNCH_BLOCKING=1"),
    row("custom_all_reduce", "vLLM's own all-reduce failed", r"Cuda error \S{0,200}custom_all_reduce\S{1,20} '(?P<what_word>[^']{1,100})'", "CUDA says {what} to memory that the GPUs share with one another.", ("Start it with --disable-custom-all-reduce: NCCL does the same work.", "If that comes up, look at the path between the GPUs (IOMMU, ACS, containers without --ipc=host)."), "--disable-custom-all-reduce"),
    row("gpu_error", "cuBLAS could not be set up", r"CU(?:BLAS|DNN)_STATUS_(?P<what_word>NOT_INITIALIZED|INTERNAL_ERROR)", "It says {what}: most often no GPU memory is left for it, else an earlier error or a driver that does not fit.", ("Lower --gpu-memory-utilization a little, and look for an error before this one.",)),
    row("gpu_error", "The GPU stopped with an error", r"CUDA error: (?P<what_word>[A-Za-z][^\n.:]{3,100})", "CUDA says: {what}.", ("Look for an Xid in dmesg.", "Start it with CUDA_LAUNCH_BLOCKING=1 to see which call it is.")),
    row("file_missing", "A program is not there", r"^(?:.{0,80}: )?(?P<program_word>\S{0,200}\b(?:vllm|python3?)): (?:command )?not found$|can't open file '(?P<script_word>[^']+)': \[Errno 2\]", ("{program} is not in the unit's PATH.", "{script} is not there."), "Correct the path in ExecStart=; a unit's PATH differs from that of a login."),
    row("file_missing", "A file is not there", r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<path_word>[^']+)'", "{path} is not there.", "Correct the path in the unit, or mount the disk it is on."),
    # -- processes that wait for one another --
    row("ready_deadline", "The engines were not ready in time", r"Timed out waiting for engine core processes to start.*?Waited (?P<waited_s>\d+) ?s", "The API servers gave up after {waited_s} s; a long load needs longer, and more than one API server (or data parallelism) starts that clock at once.",
        ("Set VLLM_ENGINE_READY_TIMEOUT_S to more than the load takes, 7200 for example.", "Or start one API server (--api-server-count 1), which waits without a deadline."), "VLLM_ENGINE_READY_TIMEOUT_S=7200"),
    row("ready_deadline", "The engines were not ready in time", r"Timed out waiting for engine(?:s| core processes?) to (?:send ?initial message|start)", "The API servers gave up waiting for the engines.",
        ("Set VLLM_ENGINE_READY_TIMEOUT_S to more than the load takes, 7200 for example (0.14.0 and later).", "Or start one API server (--api-server-count 1), which waits without a deadline."), "VLLM_ENGINE_READY_TIMEOUT_S=7200"),
    row("peer_unreachable", "The rendezvous was not reached", r"client socket has timed out after (?P<timeout_ms>\d+) ?ms while trying to connect to \(?(?P<host_word>[^,\s]+), (?P<peer_port>\d+)\)?", "{host}:{peer_port} did not answer within {timeout_ms:,} ms.", ("Look whether the first rank runs there, and whether a firewall lets that port through.", "Correct --master-addr and --master-port (MASTER_ADDR, MASTER_PORT), if they name another host."), phase="init"),
    row("peer_unreachable", "Not all ranks came", r"Timed out after (?P<waited_s>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<wanted>\d+) clients joined", "{joined} of {wanted} joined within {waited_s} s.", "Look at the hosts that are missing: their units, their network and the port of the rendezvous.", phase="init"),
    row("ray_resources", "Ray did not give out the GPUs", r"Cannot provide a placement group of .{0,400}? within (?P<waited_s>\d+) seconds", "The cluster did not have them within {waited_s} s.", ("Look at ray status: a node that has not joined, or another job that holds the GPUs.", "VLLM_HOST_IP must be the address by which Ray knows each node."), phase="init"),
    row("nccl_network", "The ranks do not reach one another", r"^(?!.*retrying)(?=.*(?:[Cc]onnect|socket)).*?(?:to (?P<peer_word>[\w.:\[\]-]+<\d+>) )?(?:returned|failed)\W.{0,20}?(?P<why_word>No route to host|Connection refused|Connection timed out|Network is unreachable)",
        ("NCCL did not reach {peer}: {why}.", "NCCL did not reach another rank: {why}."), ("Set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to the interface that joins the hosts.", "Look whether a firewall lets all ports through between them."), phase="init", within=r"NCCL|nccl"),
    row("nccl_multicast", "NCCL could not set up NVLink SHARP", r"NCCL WARN .*(?:NVLS|NVLink SHARP|[Mm]ulticast)", "The switches' multicast memory could not be had.", ("Start it with NCCL_NVLS_ENABLE=0: it works without, a little slower.", "Look at nvidia-fabricmanager; when it was started anew, the GPUs want a reset too."), "NCCL_NVLS_ENABLE=0", phase="init"),
    row("gloo_timeout", "The ranks do not reach one another", r"gloo.*Timed out waiting (?P<timeout_ms>\d+)ms|[Gg]loo connectFullMesh failed|gloo.*Connection (?:closed|refused|reset)", ("gloo waited {timeout_ms:,} ms for another rank of this start.", "gloo lost another rank of this start."),
        ("Set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME to the interface that joins the ranks (lo on one host).", "For a container: --network host."), phase="init"),
    row("nccl_timeout", "A collective never came back", r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=\d+, OpType=(?P<operation_word>\w+).*?Timeout\(ms\)=(?P<timeout_ms>\d+)", "{operation} waited {timeout_ms:,} ms for a rank that is lost or stuck.", ("Look for the rank that failed first, in this log and in dmesg.", "Start it with NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce to rule the path between the GPUs out."), "NCCL_P2P_DISABLE=1"),
    row("ray_nodes", "Two nodes have the same address", r"Every node should have a unique IP address\. Got (?P<nodes>\d+) nodes", "{nodes} nodes of Ray do not have an address each.", "Set VLLM_HOST_IP on each node to its own address before ray start."),
    row("ray_version", "The nodes do not run the same Ray or Python", r"Version mismatch: The cluster was started with", "This process has another Ray or Python than the cluster.", "Use one image, or the same versions, on all nodes."),
    row("worker_died", "A worker of Ray died", r"ActorDiedError|RayActorError|The actor (?:is dead because its (?P<what_word>worker process|node) has died|died unexpectedly)", ("Its {what} is gone; Ray only guesses at causes.", "It is gone; Ray only guesses at causes."), ("Look on its node: Ray's worker-*.err, and dmesg for a kill or an Xid.",), rank=Rank.WRAPPER),
    row("duplicate_gpu", "Two ranks were given the same GPU", r"Duplicate GPU detected ?: rank (?P<rank_a>\d+) and rank (?P<rank_b>\d+) both on CUDA device (?P<device_word>\w+)", "Ranks {rank_a} and {rank_b} both use device {device}.",
        "Look at CUDA_VISIBLE_DEVICES of each process, and that --tensor-parallel-size is no more than the GPUs of the node.", phase="init"),
    row("nccl_error", "NCCL failed", r"NCCL error(?:: | in: )(?P<what_word>[^\n(]+)|ncclSystemError|ncclInternalError|ncclUnhandledCudaError", ("NCCL says: {what}", "NCCL failed without saying why."), ("Start it with NCCL_DEBUG=WARN to see why.", "Look at /dev/shm and, over InfiniBand, at LimitMEMLOCK=."), "NCCL_DEBUG=WARN", rank=Rank.WRAPPER),
    row("rpc_timeout", "A worker did not answer in time", r"RPC call to (?P<method_word>\w+) timed out", "{method} did not return within VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS (300).", ("Look whether a collective hangs: GPUs at 100 % and idle power.", "Or raise VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS, if it compiles for so long."), "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=1200"),
    row("crashed", "A process crashed", r"Fatal Python error: Bus error|Bus error \(core dumped\)", "It was ended by a bus error: a mapped page could not be had. /dev/shm is full, or a mapped file was cut or its disk failed.",
        ("Look at df /dev/shm (--shm-size of a container), at dmesg, and compare the shards' sizes.",)),
    row("crashed", "A process crashed", r"Fatal Python error: (?P<what_word>.+)|!!!!!!! Segfault encountered|double free or corruption", ("Python says: {what}", "It crashed in native code."), "Look at its core with coredumpctl, and at dmesg for an Xid."),
    row("worker_killed", "A worker was killed", r"[Ww]orker (?:proc(?:ess)? )?(?P<who_word>\S+)(?: pid \d+)? died(?: unexpectedly.*\(|, )exit code:? (?P<exit_status>-9)\b", "{who} got SIGKILL: the OOM killer, or somebody's hand.", "Look at dmesg for \"Killed process\"; the host needs more memory, or MemoryMax= of the unit is too low.", rank=Rank.WRAPPER),
    row("crashed", "A worker crashed", r"[Ww]orker (?:proc(?:ess)? )?(?P<who_word>\S+)(?: pid \d+)? died(?: unexpectedly.*\(|, )exit code:? (?P<exit_status>-(?:11|6|7|4|8))\b", "{who} ended by signal {exit_status}.", "Look at its core with coredumpctl, and at dmesg for an Xid.", rank=Rank.WRAPPER),
    row("terminated", "It was stopped from outside", r"KeyboardInterrupt: terminated|^SystemExit: 143", "Somebody sent SIGTERM while it loaded: systemd's time limit, a probe, or a hand. It is no crash.", "Look who stops it, and raise the time limit of starts (TimeoutStartSec=infinity).", "TimeoutStartSec=infinity", facts={"killed_by": "external SIGTERM"}, rank=Rank.WRAPPER),
)  # fmt: skip

CONSEQUENCES: tuple[str, ...] = (
    r"Engine core initialization failed",
    r"WorkerProc initialization failed",
    r"See (?:root cause|stack trace)",
    r"EngineDeadError",
    r"EngineCore (?:failed to start|encountered)",
    r"WorkerProc (?:failed to start|hit an exception)",
    r"(?<!actor )died unexpectedly",
    r"pid \d+ died, exit code",
    r"exited unexpectedly",
    r"Parent process exited",
    r"[Ff]atal signal from worker",
    r"\[shutdown\]",
    r"AsyncLLM output_handler failed",
    r"destroy_process_group",
    r"leaked (?:shared_memory|semaphore|\w{1,40} objects)",
    r"nanobind: leaked",
    r"ConnectionResetError|BrokenPipeError|EOFError|ContextTerminated|IncompleteReadError|CancelledError",
    r"should dump.{0,40}TCPStore|recvValue failed|Broken pipe",
    r"Exception ignored (?:in|while)",
    r"Process SpawnProcess-\S+:$",
)
"""What follows from a failure; never its cause."""

HARMLESS: tuple[tuple[str, str, str], ...] = (
    ("memory_report", r"Free memory on device .* on startup\. Desired GPU memory utilization is", "how the memory is divided, no failure"),
    ("port_report", r"port \S+ is used by process", "printed when it stops; no conflict"),
    ("shm_notice", r"No available (?:shared memory broadcast )?block found", "the engine waits for its workers, as in any long step"),
    ("ulimit", r"Found ulimit of \S+ and failed to automatically increase", "a low limit of open files, which may matter under load"),
    ("capture_hint", r"out-of-memory error occurs during cudagraph capture|unexpected consequences if the model is not static", "a hint that is always printed"),
    ("allreduce", r"Custom allreduce is disabled|SymmMemCommunicator: .* not supported|custom all-?reduce kernel because it is not supported", "expected on PCIe"),
    ("ignorable", r"error message .{0,120}can be ignored", "says of itself that it can be ignored"),
    ("no_cuda_here", r"Failed to import from vllm\._\w+ with|Triton is installed, but doesn't include", "a part for another platform"),
    ("deprecated", r"(?:is|are) deprecated|DeprecationWarning|FutureWarning", "a change to come"),
    ("engine_wait", r"Waiting for \d+ (?:local|core engine)", "a heartbeat"),
)  # fmt: skip
"""Lines whose words look like a failure's; with what they mean."""

SUPPORT: tuple[tuple[tuple[str, ...], Anchored], ...] = (
    (("kv_cache_too_small",), anchored(r"kv_cache_size=(?P<kv_cache_gib>[\d.]+)GiB", "kv_cache_size=")),
    (("kv_cache_too_small",), anchored(r"# GPU blocks: (?P<gpu_blocks>\d+)", "# GPU blocks: ")),
    (
        ("kv_cache_too_small",),
        anchored(
            r"Maximum concurrency for [\d,]+ tokens per request: (?P<max_concurrency>[\d.]+)x",
            "Maximum concurrency for ",
        ),
    ),
    (
        ("kv_cache_too_small", "oom"),
        anchored(r"Available KV cache memory: (?P<available_kv_gib>[\d.]+) GiB", "Available KV cache memory: "),
    ),
    (("port_in_use",), anchored(r"\bport[=:'\" ]+(?P<port>\d{2,5})\b", "port")),
    (
        ("port_in_use",),
        anchored(r"Starting vLLM (?:API )?server.* on https?://\S*?:(?P<port>\d{2,5})", "Starting vLLM "),
    ),
    (
        ("oom",),
        anchored(
            r"`--kv-cache-memory=(?P<suggested_kv_cache_memory>\d+)` \([\d.]+ GiB\) to fit", "`--kv-cache-memory="
        ),
    ),
    (
        ("oom",),
        anchored(
            r"[Cc]urrent kv cache memory in use is (?P<kv_in_use_gib>[\d.]+) GiB", "urrent kv cache memory in use is "
        ),
    ),
)
"""Lines before a failure that hold more of its numbers, by the failure's name."""

OF_REQUESTS = frozenset(
    (
        "not_permitted", "file_missing", "hub_unreachable", "model_not_permitted", "model_not_found", "module_missing",
        "weights_mismatch", "bad_configuration", "bad_option", "trust_remote_code", "tokenizer_missing", "dropped_option",
    )
)  # fmt: skip
"""What a single request may meet as well, an image that it names for instance; a server survives it."""
OF_PROCESSES = re.compile(
    r"Engine(?:Core|Dead)|[Ee]ngine core|Worker|died unexpectedly|exited unexpectedly|fatal signal|initialization failed|Parent process"
)
"""Of the consequences, those that speak of a process that ended; others are of connections."""

_LESS = "Lower --gpu-memory-utilization"
OOM: dict[str, tuple[str, ...]] = {
    "weights": ("Spread the model over more GPUs (--tensor-parallel-size), or take a quantised checkpoint: its weights alone do not fit.",),
    "drafter": ("Take a smaller or quantised drafter, or spread the model over more GPUs: target and drafter do not fit together.",),
    "serving": (f"{_LESS} or --max-num-batched-tokens: a step while serving needed more than was measured at the start.",),
}  # fmt: skip
"""What helps where the memory ran out before the KV cache was there, and while serving; elsewhere the row says it."""
