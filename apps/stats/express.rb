# frozen_string_literal: true

require_relative "cors"
require_relative "salts"
require_relative "sender"

module Stats
  # Owns the quickest way of a request to the journal, on which nothing of it becomes an object of Ruby. It takes requests that ask for
  # nothing unusual, where there are neither keys nor trusted proxies; the others go the ordinary way, with the same result. Most are taken by
  # its responders, without a frame of Ruby; {#take} has the first of each second and those that are timed.
  class Express
    TYPE = { "content-type" => "application/json" }.freeze
    HEADERS = Elah::HeaderSet.new({ **TYPE, **CORS::ANYBODY })
    DURABILITIES = %i[memory disk].freeze
    ANSWERS = DURABILITIES.to_h { |durability| [durability, [HEADERS, %({"durability":"#{durability}"})]] }.freeze
    # To requests that say which durability they prefer: the id of the event stands between both texts.
    TOLD = DURABILITIES.to_h do |durability|
      headers = Elah::HeaderSet.new({ **TYPE, **CORS::ANYBODY, "preference-applied" => "durability=#{durability}" })
      [durability, [headers, %({"durability":"#{durability}","id":"), '"}']]
    end.freeze
    # Of requests with one of these something else is kept, or their body is not what it seems.
    CAREFUL = %w[dnt sec-gpc content-encoding].freeze

    # @param service [Service]
    def initialize(service)
      @sink = service.sink
      @pulse = service.pulse
      @visitors = service.visitors
      @client_address = service.client_address
      @durability = service.durability
      @intake = Elah::Sink::Intake.prepare(answers: ANSWERS, told: TOLD, except: Sender::UNKEPT.keys, careful: CAREFUL, paths: @pulse.paths)
      @intake.allow(0, 0)
      @pulse.count_also(@intake.method(:taken))
      @day = 0
    end

    # @param has_body [Boolean] whether a body counts
    # @return [Object] the `responder:` of a route
    def responder(has_body) = @sink.responder(@intake, @durability, has_body)

    # Records a request and answers it.
    #
    # @param request [Elah::Request, Elah::API::RackRequest]
    # @param has_body [Boolean] whether its body counts
    # @return [Boolean] false, and nothing has happened, when it has to go the ordinary way
    def take(request, has_body)
      started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) if @pulse.timed?
      now = @pulse.tick
      forget(now / Salts::DAY_SECONDS) unless now / Salts::DAY_SECONDS == @day
      @sink.record(request, @intake, @durability, has_body) || record_first(request, has_body) or return false
      @pulse.noted(1, now)
      @intake.allow(@pulse.until_timed, (now + 1) * 1000)
      measure(request, started_at) if started_at
      true
    end

    private

    # The ids of visitors change with the day.
    def forget(day)
      @intake.forget
      @day = day
    end

    # Records the first request of a sender.
    def record_first(request, has_body)
      return if @intake.known?(request)

      visitor = @visitors.of(@client_address.of_request(request), request.header("user-agent"))
      @intake.know(request, visitor.head)
      @sink.record(request, @intake, @durability, has_body)
    end

    # An event that is on its way to the disk is measured to where it is there.
    def measure(request, started_at)
      @sink.sync if request.awaits_answer?
      @pulse.took(Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at)
    end
  end
end
