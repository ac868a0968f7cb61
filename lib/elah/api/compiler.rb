# frozen_string_literal: true

# The compiler of an API: it turns definitions, with the settings of all surrounding scopes, into routes and endpoints at boot.
module Elah
  module Framework
    # Compiles one API and the APIs that it mounts.
    class Compiler
      Entry = Struct.new(:verb, :pattern, :requirements, :target, keyword_init: true)
      private_constant :Entry

      # @param api [Class] of {API}
      def initialize(api)
        @api = api
        @routes = []
        @entries = []
        @mounts = []
        @not_found = NotFound.new(Settings.new(api._captured_layers))
      end

      # @return [Dispatcher]
      # @raise [DefinitionError]
      def dispatcher
        compile(@api, [])
        targets = []
        router = Elah::Router.new
        add_routes(router, targets)
        @mounts.each { |path, app| router.mount(path, register(targets, app)) }
        Dispatcher.new(router: router, routes: @routes.freeze, targets: targets.freeze, not_found: @not_found)
      end

      private

      # @param outer_layers [Array<Layer>] layers of the APIs that mount this one
      # @param outer_parameters [Array<Parameters>] declared where it is mounted
      def compile(api, outer_layers, outer_parameters = [])
        @not_found.add(Settings.new(outer_layers + api._captured_layers))
        api._definitions.each do |definition|
          layers = outer_layers + definition.layers
          case definition
          when Mount then compile_mount(definition, layers, outer_parameters)
          when Definition then compile_endpoints(definition, Settings.new(layers), outer_parameters)
          end
        end
      end

      def compile_mount(mount, layers, parameters)
        path = Path.normalize(mount.path)
        if mount.app.respond_to?(:_captured_layers)
          layer = Layer.new
          layer.stacked[:mount_path] << path unless path == "/"
          compile(mount.app, layers + [layer], parameters + Settings.new(mount.layers).parameters)
        else
          settings = Settings.new(layers)
          versions_in_path(settings).each do |version|
            @mounts << [Path.full(path, settings, version), MountedApp.new(mount.app)]
          end
          @routes << describe_mount(mount, path, settings)
        end
      end

      def describe_mount(mount, path, settings)
        version = path_versioned?(settings) ? ":version" : nil
        Route.new(request_method: "*", path: "#{Path.full(path, settings, version)}(/*path)", version: version_of(settings),
                  requirements: {}, params: {}, options: { description: "the Rack app #{mount.app.is_a?(Module) ? mount.app : mount.app.class}" },
                  settings: {}, api: mount.api)
      end

      def compile_endpoints(definition, settings, outer_parameters)
        parameters = outer_parameters + definition.parameters
        definition.verbs.product(definition.paths).each do |verb, raw|
          route = describe(definition, settings, parameters, verb, raw)
          @routes << route
          blueprint = Blueprint.new(settings, definition: definition, parameters: parameters, route: route)
          versions_in_path(settings).each { |version| add_entry(blueprint, settings, verb, raw, version) }
        end
      rescue Elah::Error, ArgumentError => e
        raise DefinitionError, "#{definition.verbs.join(', ')} #{definition.paths.join(', ')} of " \
                               "#{definition.api}: #{e.message}"
      end

      def add_entry(blueprint, settings, verb, raw, version)
        endpoint = EndpointClass.new(blueprint, verb: verb, version: version, position: @entries.size).build
        ending = ending(blueprint.route.options, settings, raw, path_versioned: !version.nil?)
        @entries << Entry.new(verb: verb, pattern: Path.full(raw, settings, version) + ending,
                              requirements: blueprint.route.requirements, target: endpoint)
      end

      # Endpoints that differ only in their version share a route.
      def add_routes(router, targets)
        verbs = @entries.group_by { |entry| Path.shape(entry.pattern) }
                        .transform_values { |entries| entries.map(&:verb).uniq }
        @entries.each { |entry| entry.target.verbs = ["OPTIONS", *verbs[Path.shape(entry.pattern)]] }
        @entries.group_by { |entry| place_in_router(entry) }.each_value { |entries| warn_of_duplicates(entries) }
        @entries.group_by { |entry| [entry.verb, entry.pattern, entry.requirements] }.each_value do |entries|
          endpoints = entries.map(&:target)
          versioned = endpoints.any? { |endpoint| endpoint.blueprint.versioner }
          target = versioned ? Candidates.new(endpoints, router, targets, @not_found) : endpoints.first
          add_route(router, entries.first, register(targets, target))
        end
      end

      # Equal for entries of which the router always finds the first: the names of their parameters may differ.
      def place_in_router(entry)
        names = Path.names(entry.pattern)
        [entry.verb, Path.shape(entry.pattern), entry.requirements.transform_keys { |name| names.index(name.to_s) }]
      end

      def warn_of_duplicates(entries)
        entries.map { |entry| entry.target.route }.group_by { |route| Array(route.version) }.each_value do |routes|
          serving, *others = routes
          next if others.empty?

          Log.current.warn("#{serving.request_method} #{serving.path} is defined #{routes.size} times: the first definition, " \
                           "#{place(serving)}, serves it, not #{others.map { |route| place(route) }.join(', ')}")
        end
      end

      def place(route) = route.source_location ? route.source_location.join(":") : "one without a block in #{route.api}"

      def add_route(router, entry, id)
        router.add(entry.verb, entry.pattern, id, entry.requirements)
      rescue ArgumentError => e
        raise DefinitionError, "#{entry.verb} #{entry.pattern}: #{e.message}"
      end

      def register(targets, target)
        targets << target
        targets.size - 1
      end

      def describe(definition, settings, parameters, verb, raw)
        path = Path.full(raw, settings, path_versioned?(settings) ? ":version" : nil)
        path += ending(definition.options, settings, raw, path_versioned: path_versioned?(settings))
        in_path = Path.names(path).reject { |name| %w[format version].include?(name) }.to_h { |name| [name, ""] }
        Route.new(
          request_method: verb, path: path, own_path: raw, version: version_of(settings),
          namespace: Path.join(settings.stack(:namespaces).map(&:space)), prefix: settings[:prefix],
          requirements: requirements(definition, settings, Path.names(path)), params: in_path.merge(documentation(definition, parameters)),
          options: definition.description.merge(definition.options), settings: definition.route_settings,
          api: definition.api, gate: settings[:gate], source_location: definition.block&.source_location
        )
      end

      # The declared parameters, with the entries of `desc ..., params:`.
      def documentation(definition, parameters)
        declared = parameters.map(&:documentation).reduce({}, :merge)
        described = definition.description[:params]
        return declared unless described.is_a?(Hash)

        declared.merge(described.transform_keys(&:to_s)) do |_name, by_declaration, by_description|
          by_description.is_a?(Hash) ? by_declaration.merge(by_description) : by_description
        end
      end

      # The optional end of the path: everything below it with `anchor: false`, and a format, except for `raw` routes.
      def ending(options, settings, raw, path_versioned:)
        below = options[:anchor] == false && !raw.match?(/\*\w*\z/) ? UnanchoredCaptures::PATTERN : ""
        options[:raw] ? below : below + Path.suffix(settings, path_versioned, Path.bare?(raw, settings))
      end

      # A namespace may have requirements for parameters that only some of its paths have.
      def requirements(definition, settings, names)
        of_namespaces = settings.stack(:namespaces).map { |namespace| namespace.options[:requirements] || {} }.reduce({}, :merge)
        of_namespaces.select { |name, _| names.include?(name.to_s) }.merge(definition.options[:requirements] || {})
      end

      # @return [String, Array<String>, nil] the version that the route reports
      def version_of(settings)
        versions = settings[:version]&.map(&:to_s)
        versions && (versions.size == 1 ? versions.first : versions)
      end

      def path_versioned?(settings) = !settings[:version].nil? && settings[:version_options][:using] == :path

      # @return [Array<String, nil>] [nil] when the path has no version
      def versions_in_path(settings) = path_versioned?(settings) ? settings[:version].map(&:to_s) : [nil]
    end
  end
end
