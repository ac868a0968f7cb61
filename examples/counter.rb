# frozen_string_literal: true

# A counter that runs all the time, and an API that reads it. In a fiber it needs no lock: no other code runs between two of its waits,
# so readers see complete steps. `elah serve --set counter=thread examples/counter.rb` counts in a thread with a Mutex instead,
# which is about half as fast: `bench/counter` measures both.
class CounterAPI < Elah::API
  format :json
  error_format :problem
  STEP = 100_000
  LOCK = Mutex.new
  @count = 0

  class << self
    def in_fiber = Elah.async(detached: true) { sleep(0) while STEP.times { @count += 1 } }

    def in_thread = Thread.new { LOCK.synchronize { @count += 1 } while true }

    # Counts from the first look on.
    def count
      @counter ||= Elah.settings[:counter] == "thread" ? in_thread : in_fiber
      LOCK.synchronize { @count }
    end
  end

  get(:counter) { { count: CounterAPI.count } }
  get(:health) { { status: "ok" } } # for a load balancer; any other path is a 404
end
run CounterAPI
