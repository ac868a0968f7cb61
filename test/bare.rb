# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require "rbconfig"

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
    test/integration/leaderboards_page_test.rb test/integration/mongo_test.rb test/integration/ordinary_gems_test.rb test/integration/rack_grape_test.rb
    test/integration/rack_sinatra_test.rb test/integration/rackup_test.rb test/integration/rails_api_test.rb test/integration/redis_test.rb
    test/integration/setup_test.rb test/integration/sink_destinations_test.rb test/integration/sink_parquet_test.rb
    test/integration/sql_postgresql_test.rb test/integration/store_sync_test.rb test/integration/try_test.rb
  ].freeze

  # Seconds instead of minutes: how the extension is optimised says nothing about the machine.
  QUICK_BUILD = { "CARGO_PROFILE_RELEASE_LTO" => "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS" => "16", "CARGO_PROFILE_RELEASE_OPT_LEVEL" => "1",
                  "CARGO_PROFILE_RELEASE_DEBUG" => "0" }.freeze
  NETWORK = %w[http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY].freeze
  DEVICES = %w[null zero full random urandom tty].freeze

  # Arguments: the root, the sysroot of Rust, cargo's home; then the command in the root.
  IN_NAMESPACES = <<~SH
    root=$1 rust=$2 cargo=$3
    shift 3
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for device in #{DEVICES.join(' ')}; do : >"$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir "$root/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    mkdir -p "$root/rust" "$root/root/.cargo"
    mount --bind "$rust" "$root/rust"
    mount --bind "$cargo" "$root/root/.cargo"
    exec chroot "$root" "$@"
  SH

  # Raised when the proof fails, or cannot be made here.
  class Failure < StandardError; end

  class << self
    # @param passed [String] the record
    # @return [String, nil] why a whole run of the tests passes it over
    def reason_to_skip(passed = RECORD)
      return "#{PROVED.first(3).join(', ')} are as they were when it passed; `bin/test bare` runs it" if File.file?(passed) && File.read(passed) == record(ROOT)

      obstacle
    end

    # @return [String, nil] why it cannot run here, and what would help
    def obstacle
      return "it mounts file systems, so it wants root: run `sudo bin/test bare`" unless Process.uid.zero?
      return "there is no mmdebstrap: `bin/setup --tests` installs it" unless command?("mmdebstrap")
      return "this process may not make namespaces: run it outside of a container, or in a privileged one" unless system("unshare", "--mount", "--pid", "--fork", "true", err: File::NULL)
      return "it clones the checkout, and git finds none here" unless system("git", "-C", ROOT, "rev-parse", "--verify", "HEAD", out: File::NULL, err: File::NULL)

      "the Rust here is part of the system: install one from https://rustup.rs, which is lent to the bare machine" if ["", "/usr"].include?(rust)
    end

    # @return [String] as `sha256sum` prints it
    def record(folder) = PROVED.map { |path| "#{Digest::SHA256.file(File.join(folder, path)).hexdigest}  #{path}\n" }.join

    # @return [String] the folder of the toolchain
    def rust = Open3.capture2("rustc", "--print", "sysroot", chdir: ROOT).first.chomp

    private

    def command?(name) = system("sh", "-c", "command -v #{name}", out: File::NULL)
  end

  # Raises Failure.
  def prove
    obstacle = self.class.obstacle and raise Failure, "This cannot run here: #{obstacle}."
    FileUtils.mkdir_p(FOLDER)
    File.open(File.join(FOLDER, "lock"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      remove_root
      prepare
      run("bin/try or bin/test failed on the bare machine", *in_namespaces("sh", "/elah/test/bare/inside.sh", *TESTS))
      check_clone
      File.write(RECORD, self.class.record(clone))
    ensure
      remove_root
    end
  end

  private

  def root = File.join(FOLDER, "root")
  def clone = File.join(root, "elah")

  def prepare
    archive = base
    FileUtils.mkdir_p(root)
    run("The base could not be unpacked", "tar", "--extract", "--numeric-owner", "--file", archive, "--directory", root)
    %w[/etc/resolv.conf /etc/hosts].each { |file| FileUtils.cp(file, File.join(root, file)) }
    # Certificates of the network that this machine is in: `ca-certificates` takes them up when it is installed.
    own = "/usr/local/share/ca-certificates"
    FileUtils.cp_r("#{own}/.", File.join(root, own)) if Dir.exist?(own) && FileUtils.mkdir_p(File.join(root, own))
    run("The checkout could not be cloned", "git", "clone", "--quiet", "--depth", "1", "file://#{ROOT}", clone)
  end

  # @return [String] the archive of a minimal Debian, made when there is none of the same sources and settings
  def base
    sources = apt_sources
    settings = apt_settings
    archive = File.join(FOLDER,
                        "#{SUITE}-#{Digest::SHA256.hexdigest([SUITE, sources, settings].join("\n"))[0, 16]}.tar")
    return archive if File.file?(archive)

    Dir[File.join(FOLDER, "#{SUITE}-*.tar")].each { |old| File.delete(old) }
    options = settings.map { |setting| "--aptopt=#{setting}" }
    run("The base could not be made", "mmdebstrap", "--variant=minbase", "--format=tar", *options, SUITE,
        "#{archive}.part", *sources)
    File.rename("#{archive}.part", archive)
    archive
  end

  # The suite as apt of this machine has it, and as mmdebstrap knows it where apt has another one.
  def apt_sources
    out, = Open3.capture2("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages")
    out.lines(chomp: true).uniq.map { |line| line.split(" ", 3) }
       .select { |_, suite, component| suite.start_with?(SUITE) && component == "main" }.map { |source| "deb #{source.join(' ')}" }
  end

  # How apt of this machine gets at it: proxies, and what it does not check.
  def apt_settings = Open3.capture2("apt-config", "dump", "Acquire").first.lines(chomp: true).grep(/\AAcquire::(https?|Retries|Check)\S* "[^"]/)

  def in_namespaces(*command)
    network = ENV.slice(*NETWORK).map { |pair| pair.join("=") }
    environment = ["HOME=/root", "PATH=/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *network, *QUICK_BUILD.map { |pair| pair.join("=") }]
    cargo = ENV.fetch("CARGO_HOME", File.join(Dir.home, ".cargo"))
    FileUtils.mkdir_p(cargo)
    ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", IN_NAMESPACES, "bare", root, self.class.rust, cargo, "env", "-i", *environment, *command]
  end

  def check_clone
    changes, = Open3.capture2("git", "-C", clone, "status", "--porcelain")
    raise Failure, "The checkout is not as clean as it was:\n#{changes}" unless changes.empty?
  end

  # The mounts went with the namespaces; were one left, nothing behind it would be touched.
  def remove_root = run("The root could not be removed", "rm", "-rf", "--one-file-system", root)

  # What runs ends with this process, and all that is in its namespaces with it.
  def run(failure, *command)
    pid = Process.spawn(*command, in: File::NULL)
    status = Process.wait2(pid).last
    raise Failure, "#{failure}: #{status.to_s.sub(/\Apid \d+ /, '')}." unless status.success?
  ensure
    end_by_force(pid) if pid && !status
  end

  def end_by_force(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  begin
    Bare.new.prove
  rescue Bare::Failure => e
    abort e.message
  end
end
