# frozen_string_literal: true

module Elah
  module CLI
    module Doctor
      # The loaded gems that block the loop or need care on fibers. Each entry stands for what a run or the gem's source has shown.
      module Gems
        # level:: of the finding · reason:: what happens · remedy:: what to do · page:: of the documentation · versions:: nil for all
        Rule = Struct.new(:level, :reason, :remedy, :page, :versions, keyword_init: true)

        PAGE = "docs/databases.md#gems-that-need-care"

        RULES = {
          "async" => Rule.new(
            level: :warning, page: PAGE, reason: "it sets a fiber scheduler of its own, which raises Elah::SchedulerInUse in a handler",
            remedy: "call it in Elah.offload, or use Elah.gather"
          ),
          "bcrypt" => Rule.new(
            level: :note, page: PAGE, reason: "a hash is computed in C, which holds the loop for its whole cost",
            remedy: "call it in Elah.offload"
          ),
          "bunny" => Rule.new(
            level: :note, page: PAGE, reason: "a request that is cancelled while it waits for RabbitMQ closes the connection, which all share",
            remedy: "wrap its calls in Elah.shield"
          ),
          "concurrent-ruby" => Rule.new(
            level: :note, versions: "< 1.2", page: PAGE,
            reason: "its reentrant locks belong to the thread, so that two requests can hold one write lock",
            remedy: "update to 1.2 or later"
          ),
          "curb" => Rule.new(
            level: :warning, page: PAGE, reason: "libcurl waits in C, which holds the loop",
            remedy: "use Net::HTTP or a gem on top of it, or call it in Elah.offload"
          ),
          "ethon" => Rule.new(
            level: :warning, page: PAGE, reason: "libcurl waits in C, which holds the loop",
            remedy: "use Net::HTTP or a gem on top of it, or call it in Elah.offload"
          ),
          "mysql2" => Rule.new(
            level: :note, page: PAGE, reason: "prepared statements and results that arrive slowly wait in C, which holds the loop",
            remedy: "use Client#query, or Elah::SQL"
          ),
          "rack-timeout" => Rule.new(
            level: :warning, page: PAGE, reason: "it raises in the thread, so the exception meets whichever request runs, or none",
            remedy: "remove it and set request_seconds"
          ),
          "sequel" => Rule.new(
            level: :warning, page: PAGE, reason: "its pool counts threads, so all requests of a worker share a connection and its transactions",
            remedy: "load `Sequel.extension :fiber_concurrency` before you connect"
          ),
          "sqlite3" => Rule.new(
            level: :note, page: PAGE, reason: "a statement runs in C under Ruby's lock, which holds the loop for its whole time",
            remedy: "keep statements short"
          )
        }.freeze

        # What makes an entry void.
        CURED = { "sequel" => -> { defined?(::Sequel) && ::Sequel.current.is_a?(::Fiber) } }.freeze

        # Gems that an adapter fits in.
        ADAPTED = { "activerecord" => "each request has its own connection", "activesupport" => "reloading and request state count fibers",
                    "dalli" => "a cancelled request does not mark memcached as down", "excon" => "each call has its own socket",
                    "mysql2" => "connecting waits in a thread", "sentry-ruby" => "each request has its own hub",
                    "sentry-ruby-core" => "each request has its own hub", "sqlite3" => "a locked database suspends the fiber only" }.freeze
        private_constant :Rule, :PAGE

        class << self
          # @param config [Elah::Config]
          # @return [Array<Finding>]
          def findings(config)
            origins = loaded
            origins.flat_map { |origin| Doctor.attempt(:gem) { adapted(origin, config) } } +
              origins.flat_map { |origin| Doctor.attempt(:gem) { cautious(origin) } }
          end

          private

          def loaded = $LOADED_FEATURES.filter_map { |path| GemOrigin.of(path) }.uniq(&:name).sort_by(&:name)

          def adapted(origin, config)
            does = ADAPTED[origin.name] or return
            return Finding.new(level: :ok, check: :gem, message: "#{origin}: has an adapter: #{does}") if config.adapters?

            Finding.new(level: :warning, check: :gem, message: "#{origin} needs its adapter, and the adapters are off",
                        remedy: "remove --no-adapters", page: "docs/databases.md")
          end

          def cautious(origin)
            rule = RULES[origin.name] or return
            return unless applies?(rule, origin) && !CURED[origin.name]&.call

            Finding.new(level: rule.level, check: :gem, message: "#{origin}: #{rule.reason}", remedy: rule.remedy, page: rule.page)
          end

          def applies?(rule, origin)
            return true if rule.versions.nil? || origin.version.nil?

            Gem::Requirement.new(rule.versions).satisfied_by?(Gem::Version.new(origin.version))
          end
        end
      end
    end
  end
end
