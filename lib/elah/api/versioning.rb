# frozen_string_literal: true

# Versions outside the path: in the Accept header, in Accept-Version, in a parameter. A version in the path needs no code at run time, because it is
# part of the route.
module Elah
  module Framework
    # Each endpoint has an instance. `version_of` returns the version of a request, nil when it names none, or halts.
    module Versioning
      STRATEGIES = %i[path header param accept_version_header].freeze

      # @param options [Hash] of `version`
      # @raise [DefinitionError]
      def self.check(options)
        unless STRATEGIES.include?(options[:using])
          raise DefinitionError, "Unknown :using for version: #{options[:using]}. Known are #{STRATEGIES.join(', ')}."
        end
        return unless options[:using] == :header && !options[:vendor]

        raise DefinitionError, "A version in the header needs vendor:, e.g. `version \"v1\", using: :header, vendor: \"acme\"`."
      end

      # @param settings [Settings]
      # @param formats [Formats]
      # @return [#version_of, nil]
      def self.for(settings, formats)
        versions = settings[:version]
        options = settings[:version_options]
        return if versions.nil? || options[:using] == :path

        kind = { header: Header, param: Param, accept_version_header: AcceptVersion }.fetch(options[:using])
        kind.new(versions.map(&:to_s), options, formats)
      end

      # Base class of the three strategies: a request for another version goes to the next route of the same path, if there is one.
      class Base
        PASS = { "x-cascade" => "pass" }.freeze

        def initialize(versions, options, formats)
          @versions = versions
          @options = options
          @formats = formats
          @headers = options.fetch(:cascade, true) ? PASS : {}.freeze
        end

        # The version of a request whose verb the path does not have.
        def refused_version_of(request) = version_of(request)
      end

      # `?apiver=v1`, or the parameter that `parameter:` names.
      class Param < Base
        def version_of(request)
          query = request.query_string
          version = query.empty? ? nil : FormParameters.parse(query)[@options.fetch(:parameter, "apiver").to_s]
          return version if version.nil? || @versions.include?(version)

          raise Halt.new("404 API Version Not Found", 404, PASS)
        end
      end

      # `Accept-Version: v1`.
      class AcceptVersion < Base
        def version_of(request)
          version = request.header("accept-version").to_s.strip
          if version.empty?
            raise Halt.new("Accept-Version header must be set.", 406, @headers) if @options[:strict]

            return
          end
          return version if @versions.include?(version)

          raise Halt.new("The requested version is not supported.", 406, @headers)
        end
      end

      # `Accept: application/vnd.acme-v1+json`.
      class Header < Base
        VENDOR_TYPE = %r{\Aapplication/vnd\.([a-z0-9.\-_!^]+?)(?:-([a-z0-9*.]+))?(?:\+([a-z0-9*\-.]+))?\z}
        RANGE = %r{\A\s*([^;\s]+)\s*(?:;.*?\bq=([\d.]+))?}
        private_constant :VENDOR_TYPE, :RANGE

        def initialize(versions, options, formats)
          super
          @available = available_types
        end

        def version_of(request)
          ranges = ranges(request.header("accept"))
          check_strictly(ranges) if @options[:strict]
          type = best(ranges)
          return type[VENDOR_TYPE, 2] if type

          check_vendor(ranges.keys)
        end

        # The version is irrelevant here.
        def refused_version_of(request)
          ranges = ranges(request.header("accept"))
          check_strictly(ranges) if @options[:strict]
          best(ranges)&.[](VENDOR_TYPE, 2)
        end

        private

        # Types that can be requested, in the order of preference; the newest version is the default.
        def available_types
          vendor = "application/vnd.#{@options[:vendor]}"
          types = Formats::CONTENT_TYPES.merge(@formats.content_types)
          versioned = types.keys.flat_map do |format|
            @versions.reverse.flat_map { |version| ["#{vendor}-#{version}+#{format}", "#{vendor}-#{version}"] } +
              ["#{vendor}+#{format}"]
          end
          [*versioned, vendor, *types.values].freeze
        end

        # @return [Hash{String=>Float}] media ranges and their qualities
        def ranges(accept)
          accept.to_s.split(",").filter_map { |part| part.match(RANGE) }
                .to_h { |match| [match[1].downcase, match[2] ? match[2].to_f : 1.0] }
        end

        def best(ranges)
          return @available.first if ranges.empty?

          best, quality = @available.map { |type| [type, quality(type, ranges)] }.max_by { |_, found| found }
          best if quality.positive?
        end

        def quality(type, ranges)
          ranges.fetch(type) { ranges.fetch("#{type[%r{\A[^/]+}]}/*") { ranges.fetch("*/*", 0.0) } }
        end

        def check_strictly(ranges)
          fail_accept("Accept header must be set.") if ranges.empty?
          fail_accept("API vendor or version not found.") if ranges.keys.none?(VENDOR_TYPE)
        end

        def check_vendor(types)
          matches = types.map { |type| type.match(VENDOR_TYPE) }
          fail_accept("API vendor not found.") if matches.all? { |match| match && match[1] != @options[:vendor] }
          return unless matches.all? { |match| match && match[2] && !@versions.include?(match[2]) }

          raise Exceptions::InvalidVersionHeader.new("API version not found.", @headers)
        end

        def fail_accept(reason) = raise(Exceptions::InvalidAcceptHeader.new(reason, @headers))
      end
    end
  end
end
