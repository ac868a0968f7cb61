# frozen_string_literal: true

require_relative "../errors"

module Elah
  # The loading of an app from its file. A `.rb` file is loaded by Ruby, with a method `run` at its top level; a `.ru` file by the
  # Rack::Builder of the installed Rack.
  module AppFile
    # Files that `elah serve` looks for without an argument, in this order.
    DEFAULTS = %w[app.rb config.ru].freeze

    # The library's own folder: its lines are not the cause of an app's error.
    OWN_FOLDER = "#{File.expand_path("..", __dir__)}/".freeze
    private_constant :OWN_FOLDER

    class << self
      # @return [Boolean] whether an app is being loaded, here
      def loading? = @is_loading || false

      # @param path [String, nil] nil for the first of {DEFAULTS} in the working directory
      # @return [#call] an Elah::API class or a Rack app
      # @raise [Elah::AppFileError] when there is no such file, or it runs no app
      # @raise [Exception] an exception of the file itself
      def load(path = nil)
        path = find(path)
        @is_loading = true
        case File.extname(path)
        when ".rb" then with_own_lines { load_ruby(path) }
        when ".ru" then with_own_lines { load_rackup(path) }
        else raise AppFileError, "The name of an app file must end in .rb or .ru, not #{path}."
        end
      ensure
        @is_loading = false
      end

      # @param path [String, nil] as for {load}
      # @return [String] the absolute path of the file
      # @raise [Elah::AppFileError] when there is no such file
      def find(path = nil)
        path = Text.path(path || default)
        return path if File.file?(path)

        raise AppFileError, File.directory?(path) ? in_folder(path) : "App file #{path} does not exist."
      end

      # Does at once what an API of Elah, also within middleware, or one of Grape would do in its first request. The `compile!` of other apps, such as
      # Sinatra's, takes arguments.
      #
      # @param app [#call]
      # @raise [Elah::API::DefinitionError] when a definition is contradictory
      def compile(app)
        return app.compile! if compiles?(app)
        return if Elah.autoload?(:API)

        AppParts.each(app) { |part| Class === part && part < API ? part.compile! && false : true }
      end

      private

      def compiles?(app) = Class === app && app.respond_to?(:compile!) && app.method(:compile!).arity.zero?

      def default
        DEFAULTS.find { |name| File.file?(name) } or
          raise AppFileError, "No #{DEFAULTS.join(' or ')} in #{Text.utf8(Dir.pwd)}: name the file with elah serve FILE."
      end

      def in_folder(path)
        found = DEFAULTS.map { |name| File.join(path, name) }.find { |file| File.file?(file) }
        "#{path} is a folder: name the app file in it#{", #{found}" if found}."
      end

      # Removes the command's own lines from the backtrace of an exception of the file. Adds the line to the message of a DefinitionError,
      # because the command shows its message only.
      def with_own_lines
        yield
      rescue ScriptError, StandardError => e
        [e, e.cause].compact.each { |error| error.set_backtrace(error.backtrace.to_a.take_while { |line| !line.start_with?(__FILE__) }) }
        raise if Elah.autoload?(:API) || !e.is_a?(API::DefinitionError)

        line = e.backtrace.find { |candidate| !candidate.start_with?(OWN_FOLDER) }
        raise API::DefinitionError, "#{e.message} (#{Text.utf8(line)[/\A.+?:\d+/]})", e.backtrace
      end

      def load_ruby(path)
        apps = []
        with_run(->(app) { apps << app }) { Kernel.load(path) }
        return check(apps.first, path) if apps.size == 1

        raise AppFileError, apps.empty? ? "#{path} runs no app: end it with `run MyAPI`." : "#{path} calls `run` #{apps.size} times: call it once."
      end

      # Defines `run` at the top level while the block runs.
      def with_run(receive)
        main = TOPLEVEL_BINDING.receiver
        main.define_singleton_method(:run) { |app| receive.call(app) }
        yield
      ensure
        main.singleton_class.send(:remove_method, :run)
      end

      # Libraries that Ruby loads at its start and the command leaves out, and those that other servers have loaded before the app. A Rack app may
      # take them for granted.
      PRELUDE = %w[rubygems error_highlight did_you_mean set stringio tempfile time uri].freeze
      private_constant :PRELUDE

      # Rack 2 returns the app and the options of the first line, Rack 3 only the app.
      def load_rackup(path)
        PRELUDE.each { |feature| require feature }
        begin
          require "rack"
        rescue LoadError
          raise AppFileError, "#{path} needs the gem rack, which is not installed: add it to your Gemfile, or run gem install rack."
        end
        built = ::Rack::Builder.parse_file(path)
        check(built.is_a?(Array) ? built.first : built, path)
      end

      def check(app, path)
        return app if app.respond_to?(:call)

        raise AppFileError, "#{path} runs #{app.inspect}, which is not an app: `run` accepts an Elah::API class or any object with call(env)."
      end
    end
  end
end
