# frozen_string_literal: true

# An app whose handlers wait until something ends them, and note how that was.
class CancellationApp < Elah::API
  format :txt

  class << self
    attr_reader :events

    # Notes with what the block ends.
    def noting(name)
      yield
      events << "#{name} done"
    rescue Elah::Error => e
      events << "#{name} #{e.class.name.delete_prefix('Elah::')}"
      raise
    end
  end
  @events = []

  before { @events = CancellationApp.events }

  get(:hello) { "hello" }
  get(:events) { @events.join(",") }
  get(:waits) { CancellationApp.noting("waits") { sleep } }
  get(:naps) { CancellationApp.noting("naps") { sleep(0.6) } && "slept" }
  post(:charges) { CancellationApp.noting("charges") { sleep(0.6) } && "charged" }
  post(:events) do
    sse do |events|
      events.push("first")
      CancellationApp.noting("posted events") { sleep }
    end
  end
  get(:ticks) { sse { |events| events.push("tick") } }
  post(:late_ticks) do
    CancellationApp.noting("late ticks") { sleep(0.6) }
    sse { |events| events.push("tick") }
  end
  get(:joins) { CancellationApp.noting("joins") { Elah.async { CancellationApp.noting("child") { sleep } }.value } }

  get(:shields) do
    CancellationApp.noting("shields") do
      Elah.shield { CancellationApp.noting("inside") { sleep(0.6) } }
      sleep
    end
  end

  get(:starts) do
    Elah.async { CancellationApp.noting("started") { sleep } }
    Elah.async(detached: true) { CancellationApp.noting("detached") { sleep(0.1) } }
    "answered"
  end

  get(:streams) do
    stream do |out|
      out.write("x")
      CancellationApp.noting("streams") { sleep }
    end
  end

  get(:writes) do
    stream do |out|
      loop { out.write("x" * 100_000) }
    rescue Elah::ClientGone
      CancellationApp.noting("cleanup") { sleep(1) }
      CancellationApp.noting("writes") { sleep }
    end
  end

  get(:times_out) { Elah.timeout(0.05) { sleep } }
  get(:left) { Elah.async { Elah.deadline.round(1) }.value.to_s }
  get(:gathers) { Elah.gather(deadline: 0.05) { |g| g.call(fallback: "late") { sleep } }.values.first }
  get(:overloads) { raise Elah::Overloaded, "Full." }
  get(:fails) { Elah.async { raise "unnoticed" } && "fine" }
end

run CancellationApp
