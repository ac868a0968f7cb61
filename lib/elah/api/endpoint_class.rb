# frozen_string_literal: true

# The generated code of an endpoint: a class whose `_call` has only the steps that its route needs.
module Elah
  module Framework
    # Creates the class of one endpoint.
    class EndpointClass
      BODY_VERBS = %w[POST PUT PATCH DELETE *].freeze
      STATUSES = { "GET" => 200, "HEAD" => 200, "PUT" => 200, "PATCH" => 200, "OPTIONS" => 200, "POST" => 201 }.freeze
      WRITERS = {
        Formats::JSON_TEXT => "::Elah::JSON.generate(result)",
        Formats::TEXT => "::String === result ? result : ::Elah::Framework::Formats::TEXT.call(result, nil)"
      }.freeze
      private_constant :BODY_VERBS, :STATUSES, :WRITERS

      # @param blueprint [Blueprint]
      # @param verb [String] "*" for any
      # @param version [String, nil] the one in the path
      # @param position [Integer]
      def initialize(blueprint, verb:, version:, position:)
        @blueprint = blueprint
        @verb = verb
        @version = version
        @position = position
      end

      # @return [Class] of {Endpoint}
      def build
        endpoint = Class.new(Endpoint)
        endpoint.route = @blueprint.route
        endpoint.blueprint = @blueprint
        endpoint.position = @position
        @blueprint.helpers.each { |helper| endpoint.include(helper) }
        set_constants(endpoint)
        define_blocks(endpoint)
        endpoint.prepend(WholeCaptures.new(@blueprint.route)) if WholeCaptures.needed_by?(@blueprint.route)
        endpoint.prepend(UnanchoredCaptures) if UnanchoredCaptures.needed_by?(@blueprint.route)
        endpoint.class_eval(source, "(endpoint #{@verb} #{@blueprint.route.path})", 1)
        endpoint.place_variables
        add_events(endpoint)
        # By it the errors of Ruby 3.3 and later tell which route has failed; earlier ones call `inspect`.
        endpoint.set_temporary_name("#<#{@blueprint.route.api} #{@verb} #{@blueprint.route.path}>") if endpoint.respond_to?(:set_temporary_name)
        endpoint
      end

      private

      def formats = @blueprint.formats

      # `raw: true`: the handler responds through `request.respond` and returns its result. No format is negotiated or written, and no `after` hook
      # runs. Everything else is as in other routes.
      def raw? = @blueprint.route.options[:raw]

      def set_constants(endpoint)
        endpoint.const_set(:FORMATS, formats)
        endpoint.const_set(:MEDIA_TYPES, formats.media_types)
        endpoint.const_set(:READS_JSON, formats.reads_json? && @verb != "*")
        endpoint.const_set(:VERSION, @version)
        endpoint.const_set(:VERSIONER, @blueprint.versioner)
        endpoint.const_set(:HEADERS, formats.plain.fetch(formats.fixed).headers) if formats.single?
        endpoint.const_set(:CONTENT_TYPE, formats.content_type(formats.fixed))
      end

      # Blocks become methods: a call then needs no binding, and `return` ends it.
      def define_blocks(endpoint)
        endpoint.define_method(:_handle, &@blueprint.handler) if @blueprint.handler
        DSL::Hooks::HOOKS.each do |hook|
          @blueprint.hooks(hook).each_with_index { |block, index| endpoint.define_method(:"_#{hook}_#{index}", &block) }
        end
      end

      # A process without ActiveSupport has no events.
      def add_events(endpoint)
        return unless Adapters::Notifications.install

        require_relative "notifying"
        @emits = true
        Notifying.add(endpoint, flow(emitting_steps))
      end

      def source
        <<~RUBY
          #{flow(steps)}

          #{"def _body_params = nil" unless BODY_VERBS.include?(@verb)}
          #{"def _captures = NO_CAPTURES" if Path.names(@blueprint.route.path).empty?}
          #{"def params = @_params || _late_params" if validates_late?}
        RUBY
      end

      # The order of the steps, which a variant with events shares.
      def flow(steps)
        <<~RUBY
          def _call(request)
            @_request = request
            #{head_refusal}
            #{around("version_of", steps)}
          end

          def _guarded
            #{around("refused_version_of", event("run", "#{event("filters(:before)", hook_calls(:before))}\nyield"))}
          end

          def _run_after
            #{event("filters(:after)", hook_calls(:after))}
          end

          def _run_finally
            #{event("filters(:finally)", hook_calls(:finally))}
          end
        RUBY
      end

      # The router maps HEAD to the route of GET.
      def head_refusal
        'return _refuse(request, self.class.verbs) if request.request_method == "HEAD"' if @verb == "GET" && !@blueprint.head?
      end

      def around(version_of, steps)
        finally = event("filters(:finally)", hook_calls(:finally))
        <<~RUBY
          #{preparation(version_of)}
          #{finally ? with_finally(steps) : steps}
          rescue ::Elah::Framework::Halt => e
            _respond_with_halt(e)
          rescue ::UncaughtThrowError => e
            _rescue_throw(e)
          rescue ::Exception => e
            _rescue(e)
        RUBY
      end

      # The hooks may read the status.
      def with_finally(steps)
        <<~RUBY
          begin
            #{steps}
          rescue ::Elah::Framework::Halt => e
            @_status = e.status
            raise
          ensure
            _run_finally unless @_finally_later
          end
        RUBY
      end

      def preparation(version_of)
        lines = []
        lines << "@_version = VERSION" if @version
        lines << "@_version = VERSIONER.#{version_of}(@_request)" if @blueprint.versioner
        lines << negotiation unless raw?
        lines << "_read_body" if BODY_VERBS.include?(@verb) && !@blueprint.route.options.values_at(:stream_body, :late_body).any?
        lines.join("\n")
      end

      def negotiation
        return "@_plain = request.format_among(MEDIA_TYPES) || FORMATS.negotiate(request)" unless formats.single?

        "@_plain = FORMATS.negotiate(request) if request.query?"
      end

      def steps
        [
          hook_calls(:before), hook_calls(:before_validation),
          validation,
          hook_calls(:after_validation), raw? ? "_handle" : handling
        ].flatten.compact.join("\n")
      end

      # Grape's order of events. The response is written after them, so that `finally` stays what comes last.
      def emitting_steps
        checks = validates_late? ? "params" : "_validate"
        checks = event("validators", nil) if @blueprint.validators.none?
        inner = [
          event("filters(:before)", hook_calls(:before)), event("filters(:before_validation)", hook_calls(:before_validation)),
          checks, event("filters(:after_validation)", hook_calls(:after_validation)),
          "result = #{@blueprint.handler ? event("render", "_handle") : 'nil'}",
          (event("filters(:after)", hook_calls(:after)) unless raw?), "result"
        ].compact.join("\n")
        raw? ? event("run", inner) : "_finish(#{event("run", inner)})"
      end

      # @param name [String] of a method of {Notifying}, without its beginning
      # @return [String, nil] the code inside its event; the code alone where no events are emitted
      def event(name, code) = @emits ? "_notify_#{name} do\n#{code}\nend" : code

      def validation
        return if @blueprint.validators.none?

        validates_late? ? "params if request.query?" : "_validate"
      end

      # If all parameters are optional and can come from the query only, a request without a query needs no checks. Its defaults are set when the
      # handler reads `params`, and most hot endpoints never do.
      def validates_late?
        validators = @blueprint.validators
        in_path = Path.names(@blueprint.route.path)
        validators.any? && !BODY_VERBS.include?(@verb) && %i[before before_validation].none? { |hook| @blueprint.hooks?(hook) } &&
          validators.all? { |validator| validator._idle_without_names? && (validator._names & in_path).empty? }
      end

      def handling = ["result = #{@blueprint.handler ? '_handle' : 'nil'}", hook_calls(:after), plain_response]

      # A plain value is sent at once, with headers made at boot. A value with its own headers takes fewer steps than other results.
      def plain_response
        status = STATUSES[@verb] or return "_finish(result)"
        return negotiated_response(status) unless formats.single?

        writer = WRITERS[formats.formatter(formats.fixed)] or return "_finish(result)"

        "return _finish(result) if @_changed\n" \
          "@_request.respond(#{status}, @_header ? @_header.with_content_type(CONTENT_TYPE) : HEADERS, #{writer})"
      end

      # Does the same as {#plain_response}, in the format that the request has chosen. The response's own headers may name another one.
      def negotiated_response(status)
        <<~RUBY
          return _finish(result) if @_changed || @_header
          plain = @_plain
          headers = plain.headers or return _finish(result)
          @_request.respond(#{status}, headers,
                           plain.text && ::String === result ? result : plain.formatter.call(result, _lazy_env).to_s)
        RUBY
      end

      def hook_calls(hook)
        calls = @blueprint.hooks(hook).each_with_index.map do |block, index|
          "_#{hook}_#{index}#{'(self)' unless block.arity.zero?}"
        end
        calls << "@_opened = true" if hook == :before && calls.any?
        calls.empty? ? nil : calls.join("\n")
      end
    end
  end
end
