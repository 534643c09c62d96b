-- Acquire and release in turn, for wrk. A slot that was granted is released by the next request
-- that any connection sends, so as many acquires as releases are sent. Only status 200 is good.
dofile('test/bench/wrk.lua')
local held = {}
local key, acquirePath, releaseStem

function init(args)
  key = args[1]
  acquirePath = args[2]
  releaseStem = args[3]
end

function request()
  local slot = table.remove(held)
  local path = acquirePath
  if slot then path = releaseStem .. slot .. '/release' end
  return 'POST ' .. path .. ' HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Nthpool-Key: ' .. key ..
    '\r\nContent-Length: 0\r\n\r\n'
end

function response(status, _, body)
  if status ~= 200 then
    bad = bad + 1
    return
  end
  local slot = string.match(body, '"slotId":"([^"]+)"')
  if slot then held[#held + 1] = slot end
end
