# SPDX-License-Identifier: Apache-2.0
# What etcd had, from all its revisions: jq -r -f history.jq etcd.jsonl. Prints the revision, what is in the key's folder, the
# key, and what others judge of its value; separated by tabs. Without the last, the key is gone; its kind begins with "no-".

def fields($kind): if $kind == "grants" then [.ipus, .tenant // "", .host // "", .partition // ""]
  elif $kind == "claims" then [.gcd, .gcds, .tenant // "", .host // "", .process // ""]
  elif $kind == "record" then [.ipus, .gcds, if .phase == "READY" then "" else .changer end]
  elif $kind == "warm" then [.phase, .changer, .maker, .ipus]
  elif $kind == "queue" then [.tenant // "", .ipus // 0, .container, .aged // false, .host // "", .pinned_first // ""]
  elif $kind == "tenants" then [.guaranteed, .limit]
  elif $kind == "fences" then [.finished]
  else empty end;

.Events[]? | (.kv.key | @base64d) as $key | .kv.mod_revision as $revision | ($key | split("/")) as $part |
  if $key == "/clock" then [$revision, "clock", (.kv.value | @base64d)]
  else ([$part[] | select(IN("grants", "warm", "queue", "tenants", "fences", "partitions"))] | first) as $folder |
    (if $folder == "partitions" then ([$part[] | select(IN("claims", "record"))] | first) else $folder end) as $kind |
    if $kind == null or $key == "/end" or ($kind == "warm" and $part[-1] == "turn") then empty
    elif .type != null then [$revision, "no-" + $kind, $key]
    else [$revision, $kind, $key] + (.kv.value | @base64d | fromjson | [fields($kind)[]]) end
  end | map(tostring) | join("\t")
