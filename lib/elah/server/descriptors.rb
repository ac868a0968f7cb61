# frozen_string_literal: true

module Elah
  # The limit of file descriptors: each connection needs one, and so do the files, clients and timers of an app.
  module Descriptors
    # The part of the limit that connections leave to others, and its minimum.
    KEPT_PART = 8
    KEPT_MIN = 64

    # The interval of {watch}.
    WATCH_SECONDS = 5

    class << self
      # Raises the soft limit to the hard limit.
      #
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      def allow(config, log)
        raise_limit(log)
        allowed = connections_max(config)
        return if allowed == config.connections_max

        log.warn("The limit of #{Process.getrlimit(:NOFILE).first} file descriptors allows #{allowed} connections, not connections_max " \
                 "(#{config.connections_max}): further connections wait")
      end

      # @param config [Elah::Config]
      # @param limit [Integer] of descriptors
      # @return [Integer] connections that a worker accepts at once
      def connections_max(config, limit: Process.getrlimit(:NOFILE).first)
        allowed = limit - [limit / KEPT_PART, KEPT_MIN].max
        [config.connections_max, [allowed, 1].max].min
      end

      # Logs while the worker cannot accept connections, which wait in the listening socket then.
      #
      # @param event_loop [Elah::EventLoop] of this thread
      # @param log [Log]
      def watch(event_loop, log)
        known = 0
        Elah.watch(WATCH_SECONDS) do
          failures, errno = event_loop.counts.values_at(:accept_failures, :accept_errno)
          log.error("Connections wait because the worker cannot accept them: #{SystemCallError.new(nil, errno).message}") if failures > known
          known = failures
        end
      end

      private

      def raise_limit(log)
        soft, hard = Process.getrlimit(:NOFILE)
        Process.setrlimit(:NOFILE, hard, hard) if soft < hard
      rescue SystemCallError => e # some sandboxes do not allow it
        log.warn("The limit of file descriptors stays at #{soft}, below the hard limit of #{hard}: #{e.message}")
      end
    end
  end
end
