# frozen_string_literal: true

# The statements that define routes: verbs, namespaces, prefix, version and mount.
module Elah
  module Framework
    # The statements of a class body.
    module DSL
      # Verbs, namespaces, prefix, version and mount.
      module Routing
        VERBS = %w[GET POST PUT PATCH DELETE HEAD OPTIONS].freeze

        # @api private
        def self.extended(api) = api.send(:open_definition)

        # Defines an endpoint: `get :path, options do ... end`.
        #
        # @param paths [String, Symbol, Array<String, Symbol>, Hash{Symbol=>Object}] one or more paths below the namespace, or the options
        # @param options [Hash{Symbol=>Object}] `requirements:` and any values for {Route#options}
        # @yieldreceiver [Endpoint]
        # @yieldreturn [Object] what the response is made from
        # @return [void]
        VERBS.each do |verb|
          define_method(verb.downcase) do |paths = ["/"], options = {}, &block|
            paths, options = ["/"], paths if paths.is_a?(Hash)
            route(verb, paths, options, &block)
          end
        end

        # Defines an endpoint for several verbs or, with `:any`, for all.
        #
        # @param verbs [Array<Symbol, String>, Symbol, String]
        # @param paths [String, Symbol, Array<String, Symbol>]
        # @param options [Hash{Symbol=>Object}] see {#get}
        # @yieldreceiver [Endpoint]
        # @yieldreturn [Object] what the response is made from
        # @return [void]
        def route(verbs, paths = ["/"], options = {}, &block)
          verbs = verbs == :any ? ["*"] : Array(verbs).map { |verb| verb.to_s.upcase }
          paths = Array(paths).map(&:to_s)
          @elah_definitions << Definition.new(
            verbs: verbs, paths: paths.empty? ? ["/"] : paths, options: options, block: block, layers: _captured_layers,
            description: @elah_description || {}, parameters: _settings.parameters, route_settings: @elah_route_settings.dup,
            api: self
          )
          _finish_route
        end

        # Puts the endpoints of the block below a path and gives them the settings made in the block.
        #
        # @param space [String, Symbol, nil] the path
        # @param options [Hash{Symbol=>Object}] `requirements: { id: /\d+/ }`
        # @yieldreceiver [self]
        # @return [Object] the path of the namespaces so far, without an argument
        def namespace(space = nil, options = {}, &block)
          return joined_namespace unless space || block

          _within_layer do
            @elah_layers.last.stacked[:namespaces] << Namespace.new(space.to_s, options) if space
            class_eval(&block) if block
          end
        end
        %i[group resource resources segment].each { |name| alias_method name, :namespace }

        # A namespace that is a parameter: `route_param(:id, type: Integer) { get { ... } }`.
        #
        # @param name [Symbol, String] the parameter
        # @param options [Hash{Symbol=>Object}] `type:` to coerce it, `requirements:` a Regexp
        # @yieldreceiver [self]
        # @return [void]
        def route_param(name, options = {}, &block)
          options = options.dup
          options[:requirements] = { name.to_sym => options[:requirements] } if options[:requirements].is_a?(Regexp)
          type = options[:type]
          params { requires(name, type: type) } if options.key?(:type)
          namespace(":#{name}", options, &block)
        end

        # Opens a scope with its own settings and without a path.
        #
        # @param _name [Object] for the reader
        # @yieldreceiver [self]
        # @return [void]
        def scope(_name = nil, &block)
          _within_layer { class_eval(&block) }
        end

        # The beginning of all paths of this API.
        #
        # @param path [String, Symbol, nil] nil returns it
        # @return [String, nil]
        def prefix(path = nil)
          path ? _inherit(:prefix, path.to_s) : _settings[:prefix]
        end

        # Sets the versions of the following endpoints, or of those in the block.
        #
        # @param versions [Array<String, Symbol, Array<String>, Hash{Symbol=>Object}>]
        # @param options [Hash{Symbol=>Object}] `using: :path | :header | :param | :accept_version_header`, `vendor:`, `parameter:`,
        #   `strict:`, `cascade:`; also as a Hash
        # @yieldreceiver [self]
        # @return [Object] the last one, without an argument
        def version(*versions, **options, &block)
          options = versions.pop.merge(options) if versions.last.is_a?(Hash)
          return _settings[:version]&.last if versions.empty?

          options = { using: :path }.merge(options)
          Versioning.check(options)
          return set_version(versions.flatten, options) unless block

          _within_layer do
            set_version(versions.flatten, options)
            class_eval(&block)
          end
        end

        # Serves another API or any Rack app: `mount Admin` or `mount Admin => "/admin"`. A Rack app sees the whole path,
        # as under Grape.
        #
        # @param apps [Class, #call, Hash{#call => String}]
        # @return [void]
        def mount(apps)
          apps = { apps => "/" } unless apps.respond_to?(:each_pair)
          apps.each_pair do |app, path|
            @elah_definitions << Mount.new(app: app, path: path.to_s, layers: _captured_layers, api: self)
          end
          changed!
        end

        # Whether the response to a request without a route has X-Cascade: pass under Rack, so that the outer router continues.
        #
        # @param value [Boolean, nil] nil returns it
        # @return [Boolean]
        def cascade(value = nil)
          value.nil? ? _settings[:cascade] != false : _inherit(:cascade, value)
        end

        # GET routes of this scope do not respond to HEAD.
        #
        # @return [void]
        def do_not_route_head! = _inherit(:do_not_route_head, true)

        # Routes of this scope do not respond to OPTIONS.
        #
        # @return [void]
        def do_not_route_options! = _inherit(:do_not_route_options, true)

        # @return [Array<Definition, Mount>] what the class body defined, in order
        # @api private
        def _definitions = @elah_definitions

        # @return [Array<Layer>] the settings of an endpoint at this point of the class body: later statements in its own scope do not concern it,
        #   those of outer scopes do, as under Grape
        # @api private
        def _captured_layers = [*_scopes[0...-1], @elah_layers.last.snapshot]

        # @return [Array<Layer>] the scopes at this point of the class body, the outermost first
        # @api private
        def _scopes = [*(superclass._scopes if superclass.respond_to?(:_scopes)), *@elah_layers.map(&:view)]

        private

        def inherited(api)
          super
          api.send(:open_definition)
        end

        def open_definition
          @elah_layers = [Layer.new]
          @elah_definitions = []
          @elah_route_settings = {}
        end

        def _settings = Settings.new(_captured_layers)

        def _inherit(key, value)
          changed!
          @elah_layers.last.single[key] = value
        end

        def _stack(key, value)
          changed!
          @elah_layers.last.stacked[key] << value
        end

        def set_version(versions, options)
          _inherit(:version, versions)
          _inherit(:version_options, options)
        end

        def _within_layer
          @elah_layers.push(Layer.new)
          yield
        ensure
          @elah_layers.pop
          _finish_route
        end

        # The values of `desc`, `params` and `route_setting` applied to the endpoint just defined only.
        def _finish_route
          @elah_description = nil
          @elah_route_settings = {}
          @elah_layers.last.parameters.clear
          changed!
        end

        def joined_namespace = Path.join(_settings.stack(:namespaces).map(&:space))
      end
    end

    # A path that a scope adds. options: `requirements:`
    Namespace = Struct.new(:space, :options)
  end
end
