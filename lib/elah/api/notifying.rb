# frozen_string_literal: true

# The variant of an endpoint that emits events of ActiveSupport::Notifications. It serves a request when any of the events has a subscriber.
module Elah
  module Framework
    # Mixed into the variant, a subclass of the endpoint with a `_call` of its own.
    module Notifying
      Events = Adapters::Notifications
      private_constant :Events

      # Of the endpoint's class: chooses the variant.
      module Choice
        # @return [Class] the variant
        attr_accessor :notifying

        def handle(request) = Events.listening? ? notifying.new._call(request) : super
        def refuse(request, verbs) = Events.listening? ? notifying.new._refuse(request, verbs) : super
      end

      # Of the variant's class: what the compiler has set on the endpoint.
      module OfEndpoint
        %i[route position blueprint verbs].each { |name| define_method(name) { superclass.public_send(name) } }
      end

      # Creates the variant of an endpoint.
      #
      # @param endpoint [Class] of {Endpoint}
      # @param source [String] the code of its `_call`
      def self.add(endpoint, source)
        variant = Class.new(endpoint)
        variant.include(self)
        variant.extend(OfEndpoint)
        # The code would find Elah's own constants before those of a superclass.
        endpoint.constants(false).each { |name| variant.const_set(name, endpoint.const_get(name)) }
        variant.class_eval(source, "(endpoint #{endpoint.route.request_method} #{endpoint.route.path}, with events)", 1)
        variant.place_variables
        endpoint.extend(Choice)
        endpoint.notifying = variant
      end

      # The event ends before the faults are raised, as in Grape.
      def _validate
        faults = _notify_validators { _blueprint.checklist.faults(params, self) }
        raise Exceptions::ValidationErrors.new(errors: faults, headers: @_header) unless faults.empty?
      end

      private

      def _notify_run(&block) = _notify(Events::RUN, { endpoint: self, env: _lazy_env }, &block)
      def _notify_render(&block) = _notify(Events::RENDER, { endpoint: self }, &block)

      def _notify_filters(type, &block)
        _notify(Events::FILTERS, { endpoint: self, filters: _blueprint.hooks(type), type: type }, &block)
      end

      def _notify_validators(&block)
        _notify(Events::VALIDATORS, { endpoint: self, validators: _blueprint.validators, request: @_request }, &block)
      end

      def _written(body, format, content_type)
        formats = _blueprint.formats
        formatter = formats.formatter(formats.format_of(content_type, format))
        _notify(Events::FORMAT, { formatter: formatter, env: _lazy_env }) { super }
      end

      # The end of a handler by `error!` or `throw :error` is no exception of the event.
      def _notify(name, payload)
        ending = nil
        result = Events.instrument(name, payload) do
          yield
        rescue Halt, UncaughtThrowError => e
          ending = e
          @_status = e.status if e.is_a?(Halt)
          nil
        end
        ending ? raise(ending) : result
      end
    end
  end
end
