-- Acquire and release in turn, for wrk. A slot that was granted is released by the next request
-- that any connection sends, so as many acquires as releases are sent. Only status 200 is good.
local held = {}
local key, acquirePath, releaseStem
bad = 0
grants = 0

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
  if slot then
    grants = grants + 1
    held[#held + 1] = slot
  end
end

local threads = {}
function setup(thread) threads[#threads + 1] = thread end

function done(summary, latency)
  local badSum, grantSum = 0, 0
  for _, thread in ipairs(threads) do
    badSum = badSum + thread:get('bad')
    grantSum = grantSum + thread:get('grants')
  end
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format(
    'RESULT {"requests":%d,"grants":%d,"us":%d,"bad":%d,"failed":%d,"p50us":%d,"p99us":%d}\n',
    summary.requests, grantSum, summary.duration, badSum, failed,
    latency:percentile(50), latency:percentile(99)))
end
