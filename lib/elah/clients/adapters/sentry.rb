# frozen_string_literal: true

module Elah
  module Adapters
    # The sentry-ruby adapter: each fiber has its own hub, with the user, tags and breadcrumbs of a report. Sentry keeps it in a variable of the
    # thread, so that an error would be reported with the user of another request.
    module Sentry
      # @return [Boolean] whether the gem is loaded
      def self.install
        return false unless defined?(::Sentry::THREAD_LOCAL)

        ::Sentry.singleton_class.prepend(FiberHub)
        true
      end

      # Stands before Sentry's own methods. In a thread that the app starts, code keeps the hub of that thread.
      module FiberHub
        # @return [Sentry::Hub, nil]
        def get_current_hub
          Elah.current_task ? Thread.current[:sentry_hub] || clone_hub_to_current_thread : super
        end

        # @return [Sentry::Hub, nil]
        def clone_hub_to_current_thread
          return super unless Elah.current_task

          Thread.current[:sentry_hub] = get_main_hub.clone if initialized?
        end
      end
    end
  end
end
