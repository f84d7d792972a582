# An MCP server of few words: its tools are what stands in the file `tools` of its home. What stands in a file `tools.call`, `prompts.list`
# and so on is its whole answer to that method, and in one with `.error` behind, its error. It notes what it received.
while read -r line; do
  printf '%s\n' "$line" >>"$HOME/received"
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  method=${line#*\"method\":\"}
  method=${method%%\"*}
  key=result
  file=$HOME/$(printf %s "$method" | tr / .)
  case $method in
  initialize) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"words","version":"1"}}' ;;
  tools/list) result="{\"tools\":[$(tr -d '\n' <"$HOME/tools")]}" ;;
  tools/call) result='{"content":[{"type":"text","text":"done"}]}' ;;
  ping) result='{}' ;;
  *) key=error result='{"code":-32601,"message":"no such method"}' ;;
  esac
  [ -e "$file" ] && key=result && result=$(cat "$file")
  [ -e "$file.error" ] && key=error && result=$(cat "$file.error")
  printf '%s\n' "{\"jsonrpc\":\"2.0\",\"id\":$id,\"$key\":$result}"
done
