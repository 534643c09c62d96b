-- What every load by wrk tells, as one line of JSON. A script that asks for more than one path begins
-- with this file, and counts in `bad` what is not as it should be.
bad = 0

local threads = {}
function setup(thread) threads[#threads + 1] = thread end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  local badSum = 0
  for _, thread in ipairs(threads) do badSum = badSum + thread:get('bad') end
  local times = {}
  for i = 1, #latency do times[i] = string.format('[%d,%d]', latency(i)) end
  io.write(string.format('RESULT {"requests":%d,"us":%d,"bad":%d,"failed":%d,"times":[%s]}\n',
    summary.requests, summary.duration, badSum, failed, table.concat(times, ',')))
end
