# frozen_string_literal: true

# What bench/sink measures: one endpoint that does nothing, and the same one with an event into a sink or into a file.
require "tmpdir"

module SinkBench
  FOLDER = Dir.mktmpdir("elah-sink-bench", Elah.settings["folder"])
  EVENTS = Elah::Sink.new("events", folder: FOLDER) { |_batch| nil }
  FILE = File.open(File.join(FOLDER, "appended"), "ab")
  at_exit { FileUtils.remove_entry(FOLDER) }

  # The endpoints.
  class App < Elah::API
    helpers do
      def event = { ip: "127.0.0.1", path: "/a/page/of/usual/length", agent: "a client that says what it is", query: { "n" => 7 }, at: 1_700_000_000 }
    end

    get(:nothing) { event && "OK" }

    get(:memory) do
      EVENTS << event
      "OK"
    end

    get(:disk) do
      EVENTS.push(event, durability: :disk)
      "OK"
    end

    get(:file) do
      FILE.write(Elah::JSON.generate(event), "\n")
      FILE.fdatasync
      "OK"
    end
  end
end

run SinkBench::App
