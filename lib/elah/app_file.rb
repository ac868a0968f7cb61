# frozen_string_literal: true

require_relative "errors"

module Elah
  # Owns how an app gets out of its file. A `.rb` file is loaded as Ruby loads any file, with `run APP` understood at its
  # top level; a `.ru` file goes through Rack::Builder, whichever Rack is installed.
  module AppFile
    # What `elah serve` looks for when it is given no file, in this order.
    DEFAULTS = %w[app.rb config.ru].freeze

    class << self
      # @param path [String, nil] nil takes the first of {DEFAULTS} that the working directory has
      # @return [#call] an Elah::API class or a Rack app
      # @raise [Elah::AppFileError] when there is no such file, or it gives no app
      # @raise [Exception] whatever the file itself raises
      def load(path = nil)
        path = File.expand_path(path || default)
        raise AppFileError, "There is no app file #{path}." unless File.file?(path)

        case File.extname(path)
        when ".rb" then with_own_lines { load_ruby(path) }
        when ".ru" then with_own_lines { load_rackup(path) }
        else raise AppFileError, "An app file ends in .rb or .ru; #{path} does not."
        end
      end

      private

      def default
        DEFAULTS.find { |name| File.file?(name) } or
          raise AppFileError, "There is neither #{DEFAULTS.join(' nor ')} in #{Dir.pwd}; name the file: elah serve FILE."
      end

      # What the file raises is told with its own lines, without those of the command that loads it. The error of a definition, of which the
      # command shows the message alone, gets its line there.
      def with_own_lines
        yield
      rescue ScriptError, StandardError => e
        [e, e.cause].compact.each { |error| error.set_backtrace(error.backtrace.to_a.take_while { |line| !line.start_with?(__FILE__) }) }
        raise if Elah.autoload?(:API) || !e.is_a?(API::DefinitionError)

        line = e.backtrace.find { |candidate| !candidate.start_with?("#{__dir__}/") }
        raise API::DefinitionError, "#{e.message} (#{line.to_s[/\A.+?:\d+/]})", e.backtrace
      end

      def load_ruby(path)
        apps = []
        with_run(->(app) { apps << app }) { Kernel.load(path) }
        return check(apps.first, path) if apps.one?

        raise AppFileError, apps.empty? ? "#{path} names no app: end it with `run MyAPI`." : "#{path} calls `run` #{apps.size} times."
      end

      # Gives the top level a method `run` while the block runs.
      def with_run(receive)
        main = TOPLEVEL_BINDING.receiver
        main.define_singleton_method(:run) { |app| receive.call(app) }
        yield
      ensure
        main.singleton_class.send(:remove_method, :run)
      end

      # What Ruby loads as it starts, and the command leaves out: an app of the Rack world may count on it.
      RUBY_PRELUDE = %w[rubygems error_highlight did_you_mean].freeze
      private_constant :RUBY_PRELUDE

      # Rack 2 answers the app and the options of the file's first line, Rack 3 the app alone.
      def load_rackup(path)
        RUBY_PRELUDE.each { |feature| require feature }
        begin
          require "rack"
        rescue LoadError
          raise AppFileError, "#{path} needs the gem rack, which is not installed."
        end
        built = ::Rack::Builder.parse_file(path)
        check(built.is_a?(Array) ? built.first : built, path)
      end

      def check(app, path)
        return app if app.respond_to?(:call)

        raise AppFileError, "#{path} runs #{app.inspect}, which is no app: `run` takes an Elah::API class or any object with call(env)."
      end
    end
  end
end
