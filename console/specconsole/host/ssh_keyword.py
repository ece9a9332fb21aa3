"""What we do with each keyword of an SSH client configuration: used, without meaning here, or ignored and said so."""

from __future__ import annotations

USED = frozenset(
    {
        "addressfamily", "batchmode", "bindaddress", "certificatefile",
        "challengeresponseauthentication", "ciphers", "compression", "connecttimeout",
        "globalknownhostsfile", "hashknownhosts", "hostkeyalgorithms", "hostkeyalias",
        "hostname", "identitiesonly", "identityagent", "identityfile",
        "ignoreunknown", "kbdinteractiveauthentication", "kexalgorithms", "macs",
        "numberofpasswordprompts", "passwordauthentication", "port", "preferredauthentications",
        "proxycommand", "proxyjump",
        "pubkeyauthentication", "revokedhostkeys", "stricthostkeychecking", "tag",
        "user", "userknownhostsfile",
    }
)  # fmt: skip

WITHOUT_MEANING = frozenset(
    {
        "addkeystoagent", "checkhostip", "clearallforwardings", "connectionattempts",
        "controlmaster", "controlpath", "controlpersist", "dynamicforward",
        "enableescapecommandline", "escapechar", "exitonforwardfailure", "fingerprinthash",
        "forkafterauthentication", "forwardagent", "forwardx11", "forwardx11timeout",
        "forwardx11trusted", "gatewayports", "localcommand", "localforward",
        "loglevel", "logverbose", "obscurekeystroketiming",
        "permitlocalcommand", "permitremoteopen", "remotecommand", "remoteforward",
        "requesttty", "sendenv", "serveralivecountmax", "serveraliveinterval",
        "sessiontype", "setenv", "stdinnull", "streamlocalbindmask",
        "streamlocalbindunlink", "syslogfacility", "tcpkeepalive", "tunnel",
        "tunneldevice", "updatehostkeys", "usekeychain", "visualhostkey",
        "xauthlocation",
    }
)  # fmt: skip
"""They shape a shell session, forwards, or what the console does by rules of its own (keepalive, known hosts)."""

REASONS = {
    "bindinterface": "connections leave by the interface that the routes say",
    "canonicaldomains": "names are not completed; write the full HostName",
    "canonicalizefallbacklocal": "names are not completed; write the full HostName",
    "canonicalizehostname": "names are not completed; write the full HostName",
    "canonicalizemaxdots": "names are not completed; write the full HostName",
    "canonicalizepermittedcnames": "names are not completed; write the full HostName",
    "casignaturealgorithms": "the library's own list holds",
    "enablesshkeysign": "host-based authentication is not offered",
    "gssapiauthentication": "Kerberos is not offered",
    "gssapidelegatecredentials": "Kerberos is not offered",
    "gssapikeyexchange": "Kerberos is not offered",
    "hostbasedacceptedalgorithms": "host-based authentication is not offered",
    "hostbasedauthentication": "host-based authentication is not offered",
    "ipqos": "packets are not marked",
    "knownhostscommand": "host keys come from the known_hosts files only",
    "nohostauthenticationforlocalhost": "host keys are always verified",
    "pkcs11provider": "smart cards work through the agent only (ssh-add -s)",
    "proxyusefdpass": "the proxy command has to stay between",
    "pubkeyacceptedalgorithms": "every kind of key is tried",
    "pubkeyacceptedkeytypes": "every kind of key is tried",
    "rekeylimit": "the library's own limit holds",
    "requiredrsasize": "the library's own limit holds",
    "securitykeyprovider": "security keys work through the agent only (ssh-add)",
    "verifyhostkeydns": "host keys come from the known_hosts files only",
}
"""Why an option that could matter is ignored."""

REPEATED = frozenset({"identityfile", "certificatefile"})
"""Every value counts, not only the first."""

WHOLE_LINE = frozenset({"proxycommand", "remotecommand", "localcommand", "knownhostscommand"})
"""The value is the rest of the line as it stands, with quotes and number signs."""
