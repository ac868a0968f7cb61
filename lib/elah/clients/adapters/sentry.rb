# frozen_string_literal: true

module Elah
  module Adapters
    # The sentry-ruby adapter: each request and each spawned fiber has its own hub, with the user, tags and breadcrumbs of a report, also in the
    # Enumerators and Fibers that it makes. Sentry keeps it in a variable of the thread, so that an error would be reported with the user of another
    # request.
    module Sentry
      # @return [Boolean] whether the gem is loaded
      def self.install
        return false unless defined?(::Sentry::THREAD_LOCAL)

        ::Sentry.singleton_class.prepend(TaskHub)
        true
      end

      # Stands before Sentry's own methods. In a thread that the app starts, code keeps the hub of that thread.
      module TaskHub
        # @return [Sentry::Hub, nil]
        def get_current_hub
          task = Elah.current_task or return super
          task.locals[:sentry_hub] || clone_hub_to_current_thread
        end

        # @return [Sentry::Hub, nil]
        def clone_hub_to_current_thread
          task = Elah.current_task or return super
          task.locals[:sentry_hub] = get_main_hub.clone if initialized?
        end
      end
    end
  end
end
