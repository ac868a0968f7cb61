# frozen_string_literal: true

# The path of a route, joined from the parts of its definition.
module Elah
  module Framework
    # Paths in the notation of Grape: `:param`, `*wildcard`, `(optional)`.
    module Path
      class << self
        # @param parts [Array<String>]
        # @return [String] one slash between parts, none at the end, "/" without parts
        def join(parts)
          path = "/#{parts.join('/')}".squeeze("/")
          path.size > 1 ? path.delete_suffix("/") : path
        end

        # @param raw [String] the path of the verb
        # @param settings [Settings]
        # @param version [String, nil] the part for the version, with path versioning
        # @return [String] without the format suffix
        def full(raw, settings, version)
          join([*settings.stack(:mount_path), settings[:prefix], version,
                *settings.stack(:namespaces).map(&:space), raw].compact)
        end

        # @return [String] the optional suffix that requests a format
        def suffix(settings, path_versioned, bare)
          return "(.#{settings[:format]})" if settings[:format] && settings.stack(:content_types).size == 1

          path_versioned && bare ? "(/.:format)" : "(.:format)"
        end

        # @return [Boolean] whether neither a namespace nor the verb adds to the path
        def bare?(raw, settings)
          [*settings.stack(:namespaces).map(&:space), raw].all? { |part| part.empty? || part == "/" }
        end

        # @param path [String] as a client sent it
        # @return [String] as routes are written
        def normalize(path) = join([path])

        # @return [Array<String>] the names of the parameters, in order. That of a `*` without one is the router's
        def names(pattern) = pattern.scan(/(?<!\\)(?:(?::|\*|\{\+?)(\w+)|\*)/).map { |(name)| name || "splat" }

        # @return [String] equal for patterns that match the same paths
        def shape(pattern)
          pattern.gsub(/(?<!\\)(?::\w+|\{\w+\})/, ":").gsub(/(?<!\\)(?:\*\w*|\{\+\w+\})/, "*")
        end
      end
    end
  end
end
