# frozen_string_literal: true

# The statements about representations: formats, content types, formatters, parsers, error formats.
module Elah
  module Framework
    module DSL
      # format, default_format, content_type, formatter, parser, error_formatter, error_format, represent.
      module Formatting
        # Sets the only format of this scope. Without an argument it returns the format.
        #
        # @overload format(name)
        #   @param name [Symbol, String] a built-in format or one named by {#content_type}
        #   @return [void]
        # @overload format
        #   @return [Symbol, nil]
        def format(name = nil)
          return _settings[:format] unless name

          name = name.to_sym
          type = content_types[name]
          raise DefinitionError, "The format #{name} has no content type. Known are #{content_types.keys.join(', ')}; " \
                                 "add it with `content_type :#{name}, \"application/#{name}\"`." unless type

          _inherit(:format, name)
          _inherit(:default_error_formatter, ErrorFormats::BUILT_IN.fetch(name, ErrorFormats::Text))
          _stack(:content_types, { name => type })
        end

        # The format of requests that ask for none; by default txt.
        #
        # @param name [Symbol, String, nil] nil returns it
        # @return [Symbol, nil]
        def default_format(name = nil)
          name ? _inherit(:default_format, name.to_sym) : _settings[:default_format]
        end

        # Adds a format that this API supports, with its media type.
        #
        # @param name [Symbol, String]
        # @param type [String]
        # @return [void]
        def content_type(name, type) = _stack(:content_types, { name.to_sym => type })

        # @return [Hash{Symbol=>String}] the formats of this scope and their media types
        def content_types
          own = _settings.merged(:content_types)
          own.empty? ? Formats::CONTENT_TYPES : own
        end

        # Sets how a response is written in a format.
        #
        # @param name [Symbol, String] the format
        # @param formatter [#call] called with the object and the Rack env, returns a String
        # @return [void]
        def formatter(name, formatter) = _stack(:formatters, { name.to_sym => formatter })

        # Sets how a body is read in a format.
        #
        # @param name [Symbol, String] the format
        # @param parser [#call] called with the String and the Rack env, returns a value; a Hash becomes params
        # @return [void]
        def parser(name, parser) = _stack(:parsers, { name.to_sym => parser })

        # Sets how an error is written in a format.
        #
        # @param name [Symbol, String] the format
        # @param formatter [#call, Hash{Symbol=>#call}] called with message, backtrace, options, env and the exception; or `with: formatter`
        # @return [void]
        def error_formatter(name, formatter)
          formatter = formatter[:with] if formatter.is_a?(Hash)
          _stack(:error_formatters, { name.to_sym => formatter })
        end

        # Sets how an error is written in a format without an error formatter.
        #
        # @param name [Symbol, String, nil] the format whose errors to write; nil returns the formatter
        # @return [Object, nil]
        def default_error_formatter(name = nil)
          return _settings[:default_error_formatter] unless name

          _inherit(:default_error_formatter, ErrorFormats::BUILT_IN.fetch(name.to_sym, ErrorFormats::Text))
        end

        # `:problem` writes every error of this API as application/problem+json; `:grape`, the default, by format.
        #
        # @param name [:problem, :grape]
        # @return [void]
        # @raise [DefinitionError]
        def error_format(name)
          known = %i[grape problem]
          raise DefinitionError, "error_format must be one of #{known.join(', ')}, not #{name.inspect}." unless
            known.include?(name)

          _inherit(:error_format, name)
        end

        # Sets the entity for objects of a class, where `present` names none.
        #
        # @param model [Module]
        # @param options [Hash{Symbol=>Class}] the entity in `with:`
        # @return [void]
        # @raise [DefinitionError]
        def represent(model, options)
          raise DefinitionError, "represent accepts an entity class in with:, e.g. `represent User, with: UserEntity`." unless
            options[:with].is_a?(Class)

          _stack(:representations, { model => options[:with] })
        end
      end
    end
  end
end
