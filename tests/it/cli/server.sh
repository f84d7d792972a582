# An MCP server of few words: its tools are what stands in the file `tools` of its home.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"words","version":"1"}}' ;;
  *'"tools/list"'*) result="{\"tools\":[$(tr -d '\n' <"$HOME/tools")]}" ;;
  *'"tools/call"'*) result='{"content":[{"type":"text","text":"done"}]}' ;;
  *'"ping"'*) result='{}' ;;
  *) continue ;;
  esac
  printf '%s\n' "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
