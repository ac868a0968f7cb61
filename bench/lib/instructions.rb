# frozen_string_literal: true

require_relative "counted_server"

module Bench
  # Instructions per request of the general paths, counted by callgrind. The load of the machine does not change them.
  module Instructions
    # name:: as `--only` takes it
    # title:: as in the table
    # app:: path of the app file; one in `bench/` is always that of this checkout
    # head:: request line without the version
    # body:: JSON to send, or nil
    # status:: expected of each response
    # prepare:: head, body and number of requests to send once before
    Workload = Struct.new(:name, :title, :app, :head, :body, :status, :prepare, keyword_init: true)

    GENERAL = "bench/apps/general.rb"
    LINKS = "apps/links/app.rb"
    ITEMS = "apps/items/app.rb"
    LINK = %({"code":"bench","target":"https://example.com/articles/1"})
    ITEM = %({"name":"Seamless tangible toolset"})
    STATS = "apps/stats/app.rb"

    WORKLOADS = [
      Workload.new(name: "text", title: "text, `format :txt`", app: GENERAL, head: "GET /text"),
      Workload.new(name: "untyped", title: "text without `format`", app: GENERAL, head: "GET /untyped"),
      Workload.new(name: "json", title: "JSON from a Hash", app: GENERAL, head: "GET /json"),
      Workload.new(name: "entity", title: "call of an entity in memory", app: GENERAL, head: "GET /entity"),
      Workload.new(name: "sleep", title: "handler that sleeps 1 ms", app: GENERAL, head: "GET /sleep"),
      Workload.new(name: "rack", title: "Rack lambda", app: "bench/apps/rack.ru", head: "GET /rack"),
      Workload.new(name: "link", title: "look-up of a link", app: LINKS, head: "GET /bench", status: 302, prepare: ["POST /links", LINK, 1]),
      Workload.new(name: "create", title: "creation of a link", app: LINKS, head: "POST /links", status: 201,
                   body: %({"target":"https://example.com/articles/1?from=bench"})),
      Workload.new(name: "item", title: "random item of the embedded store", app: ITEMS, head: "GET /items/random",
                   prepare: ["POST /items", ITEM, 100]),
      Workload.new(name: "visit", title: "visit recorded by GET", app: STATS, head: "GET /stats?path=/pricing&campaign=autumn"),
      Workload.new(name: "event", title: "event recorded by POST", app: STATS, head: "POST /stats",
                   body: %({"path":"/pricing","campaign":"autumn"}))
    ].freeze

    ROOT = File.expand_path("../..", __dir__)

    module_function

    # @param checkout [String] folder
    # @param names [Array<String>] of workloads
    # @param requests [Integer] per workload
    # @yieldparam line [String] of progress
    # @return [Hash{String=>Float}] instructions per request by name
    def measure(checkout, names, requests)
      WORKLOADS.select { |workload| names.include?(workload.name) }.group_by(&:app).flat_map do |app, workloads|
        file = File.expand_path(app, app.start_with?("bench/") ? ROOT : checkout)
        CountedServer.run(checkout, file) do |server|
          workloads.map do |workload|
            [workload.name, per_request(server, workload, requests).tap { |count| yield format("%-8s %9.0f  %s", workload.name, count, checkout) }]
          end
        end
      end.to_h
    end

    # The difference between two runs is free of what belongs to no request, such as the dump itself. What the loop does by the clock is
    # counted while no request comes, and taken off.
    def per_request(server, workload, requests)
      verb_and_path, body, times = workload.prepare
      client = Client.new(server)
      client.send_requests(verb_and_path, body, times, nil) if verb_and_path
      run = ->(number) { client.send_requests(workload.head, workload.body, number, workload.status || 200) }
      few = requests / 3
      run.call(few) # what the first requests load and remember is not counted
      idle = count_per_second(server) { sleep 1 }
      less, more = [few, requests].map do |number|
        began_at = now
        server.count { run.call(number) } - idle * (now - began_at)
      end
      (more - less) / (requests - few)
    ensure
      client&.close
    end

    def count_per_second(server, &work)
      began_at = now
      server.count(&work) / (now - began_at)
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # A keep-alive connection with one request in flight. Each request is sent when the server is at rest, so that it always
    # takes one iteration of the loop: how many share one would depend on the clock.
    class Client
      # @param server [CountedServer]
      def initialize(server)
        @server = server
        @socket = server.connect
      end

      # @param head [String] verb and path
      # @param body [String, nil] JSON
      # @param number [Integer] of requests
      # @param status [Integer, nil] that each response must have; nil accepts any below 400
      # @raise [RuntimeError] for another response
      def send_requests(head, body, number, status)
        fields = body && "Content-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n"
        request = "#{head} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n#{fields}\r\n#{body}"
        number.times do
          @server.wait_until_at_rest
          @socket.write(request)
          found = read_status
          raise "#{head} was answered with #{found}" unless status ? found == status : found < 400
        end
      end

      def close = @socket.close

      private

      def read_status
        head = @socket.gets("\r\n\r\n") or raise "the server closed the connection"
        @socket.read(head[/^content-length: (\d+)/i, 1].to_i)
        head[/\AHTTP\S+ (\d+)/, 1].to_i
      end
    end
  end
end
