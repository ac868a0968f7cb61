# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require_relative "debian_root"

# Owns the proof that `bin/try` and `bin/test` work on a machine that has nothing: a minimal Debian in a folder, with a
# clean clone of this checkout and the Rust of this machine, in namespaces that take every mount and process with them
# when they end. Run as a program it proves it, and notes in test/bare/passed.sha256 what it has proved it for.
class Bare
  ROOT = File.expand_path("..", __dir__)
  FOLDER = File.join(ROOT, "tmp/bare")
  SUITE = "bookworm"

  # Changes of these make the proof due again.
  PROVED = %w[bin/setup bin/try bin/test test/bare/inside.sh].freeze
  RECORD = File.join(__dir__, "bare/passed.sha256")

  # What `bin/test` runs there: the steps that are quick, and for each thing that `bin/setup --tests` brings a file that
  # needs it.
  TESTS = %w[
    architecture unit docs
    test/integration/leaderboards_page_test.rb test/integration/mongo_test.rb test/integration/ordinary_gems_test.rb
    test/integration/rack_grape_test.rb test/integration/rack_sinatra_test.rb test/integration/rackup_test.rb
    test/integration/rails_api_test.rb test/integration/redis_test.rb test/integration/setup_test.rb
    test/integration/sink_destinations_test.rb test/integration/sink_parquet_test.rb
    test/integration/sql_postgresql_test.rb test/integration/store_sync_test.rb test/integration/try_test.rb
  ].freeze

  class << self
    # @param passed [String] the record
    # @return [String, nil] why a whole run of the tests passes it over
    def reason_to_skip(passed = RECORD)
      if File.file?(passed) && File.read(passed) == record(ROOT)
        return "#{PROVED.first(3).join(', ')} are as they were when it passed; `bin/test bare` runs it"
      end

      DebianRoot.obstacle
    end

    # @return [String] as `sha256sum` prints it
    def record(folder)
      PROVED.map { |path| "#{Digest::SHA256.file(File.join(folder, path)).hexdigest}  #{path}\n" }.join
    end
  end

  # Raises DebianRoot::Failure.
  def prove
    obstacle = DebianRoot.obstacle and raise DebianRoot::Failure, "This cannot run here: #{obstacle}."
    debian = DebianRoot.new(SUITE, FOLDER)
    debian.exclusively do
      DebianRoot.remove(root)
      prepare(debian)
      run("bin/try or bin/test failed on the bare machine",
          *DebianRoot.enter(root, "sh", "/elah/test/bare/inside.sh", *TESTS))
      check_clone
      File.write(RECORD, self.class.record(clone))
    ensure
      DebianRoot.remove(root)
    end
  end

  private

  def root = File.join(FOLDER, "root")
  def clone = File.join(root, "elah")
  def run(...) = DebianRoot.run(...)

  def prepare(debian)
    archive = debian.archive
    FileUtils.mkdir_p(root)
    run("The base could not be unpacked", "tar", "--extract", "--numeric-owner", "--file", archive, "--directory", root)
    debian.lend_network(root)
    run("The checkout could not be cloned", "git", "clone", "--quiet", "--depth", "1", "file://#{ROOT}", clone)
  end

  def check_clone
    changes, = Open3.capture2("git", "-C", clone, "status", "--porcelain")
    raise DebianRoot::Failure, "The checkout is not as clean as it was:\n#{changes}" unless changes.empty?
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  begin
    Bare.new.prove
  rescue DebianRoot::Failure => e
    abort e.message
  end
end
