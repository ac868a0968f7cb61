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
    def initialize(version, architecture)
      @version = version
      @architecture = architecture
    end

    # @return [String] a command that answers for RbConfig as that Ruby does; the build asks nothing else of a Ruby
    def ruby
      fetch unless File.exist?(command)
      command
    end

    private

    def root = File.join(WORK, "headers", "#{@version}-#{@architecture}")
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
      write_command
    end

    # Where apt of this machine has Debian from.
    def mirror = `apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages'`.lines(chomp: true).find { |uri| uri.end_with?("/debian/") }

    def write_command
      config = Dir[File.join(root, "usr/lib/*/ruby/#{@version}.0/rbconfig.rb")].first
      # It is read by another Ruby than its own, which it would refuse.
      File.write(config, File.read(config).sub(/^  RUBY_VERSION\.start_with\?.*\n.*\n/, ""))
      File.write(command, "#!/bin/sh\nexec ruby -I'#{File.dirname(config)}' \"$@\"\n")
      File.chmod(0o755, command)
    end
  end
end
