# frozen_string_literal: true

require "fileutils"

module Package
  # Owns the headers and the settings of a Ruby that does not run here: taken from the packages of a Debian that has it, of any architecture.
  class RubyHeaders
    # Where Debian has which Ruby.
    SUITES = { "3.1" => %w[bookworm], "3.3" => %w[trixie], "3.4" => %w[trixie experimental] }.freeze
    VERSIONS = SUITES.keys.freeze

    # Teeny versions of a Ruby that lies between ours and is none of them, so that RubyGems takes the source gem there.
    TEENY_MAX = 15

    class << self
      # @return [Array<String>] the Rubies of a precompiled gem, for its specification
      def requirement
        minors = VERSIONS.map { |version| version[/\d+\z/].to_i }
        absent = ((minors.min..minors.max).to_a - minors).flat_map { |minor| (0..TEENY_MAX).map { |teeny| "!= 3.#{minor}.#{teeny}" } }
        [">= 3.#{minors.min}", "< 3.#{minors.max + 1}.dev", *absent]
      end
    end

    # @param version [String] as "3.3"
    # @param architecture [String] Debian's name, as "arm64"
    # @param folder [String] where the packages are unpacked
    def initialize(version, architecture, folder: File.join(WORK, "headers"))
      @version = version
      @architecture = architecture
      @root = File.join(folder, "#{version}-#{architecture}")
    end

    # @return [String] a command that answers for RbConfig as that Ruby does; the build asks nothing else of a Ruby
    def ruby
      fetch unless File.exist?(command)
      write_command
      answer = `'#{command}' --disable=gems -rrbconfig -e 'print RbConfig::CONFIG.fetch("ruby_version")'`
      # Without its own settings it would answer for the Ruby that runs it, and the extension be built for that one.
      abort "package: #{command} answers for Ruby #{answer}: delete #{root} and run this again" unless answer == "#{@version}.0"
      command
    end

    private

    attr_reader :root

    def command = File.join(root, "ruby-of-#{@version}")

    def fetch
      puts "package: fetching the headers of Ruby #{@version} for #{@architecture}"
      FileUtils.rm_rf(root)
      FileUtils.mkdir_p(File.dirname(root))
      sources = SUITES.fetch(@version).map { |suite| "deb #{mirror} #{suite} main" }
      # Packages are unpacked and not installed, so that those of another processor will do.
      Package.run("mmdebstrap", "--quiet", "--variant=extract", "--architectures=#{@architecture}", "--include=ruby#{@version}-dev",
                  "--aptopt=Acquire::Check-Valid-Until \"false\"", "--aptopt=APT::Default-Release \"#{SUITES.fetch(@version).last}\"",
                  SUITES.fetch(@version).first, root, *sources)
    end

    # Where apt of this machine has Debian from.
    def mirror = `apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages'`.lines(chomp: true).find { |uri| uri.end_with?("/debian/") }

    # Written each time, since the checkout may have been moved or copied meanwhile.
    def write_command
      config = Dir[File.join(root, "usr/lib/*/ruby/#{@version}.0/rbconfig.rb")].first
      # It is read by another Ruby than its own, which it would refuse.
      File.write(config, File.read(config).sub(/^  RUBY_VERSION\.start_with\?.*\n.*\n/, ""))
      File.write(command, "#!/bin/sh\nexec ruby -I'#{File.dirname(config)}' \"$@\"\n")
      File.chmod(0o755, command)
    end
  end
end
