# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"

# A Debian in a folder, with the Rust of this machine. mmdebstrap makes it once for a suite, its packages, and the
# sources and settings of this machine's apt. It is entered in namespaces that take every mount and process with them
# when they end.
class DebianRoot
  CHECKOUT = File.expand_path("..", __dir__)

  # Seconds instead of minutes: how the extension is optimised says nothing about the machine.
  QUICK_BUILD = { "CARGO_PROFILE_RELEASE_LTO" => "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS" => "16",
                  "CARGO_PROFILE_RELEASE_OPT_LEVEL" => "1", "CARGO_PROFILE_RELEASE_DEBUG" => "0" }.freeze
  NETWORK = %w[http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY].freeze
  DEVICES = %w[null zero full random urandom tty].freeze

  # What is done before the packages are installed: certificates of this machine's network are there for
  # `ca-certificates` to take up.
  LEND_CERTIFICATES = <<~SH
    own=/usr/local/share/ca-certificates
    if [ -d "$own" ]; then mkdir -p "$1$own"; cp -R "$own/." "$1$own"; fi
  SH
  # The tests start servers of their own.
  REFUSE_CLUSTER = <<~SH
    mkdir -p "$1/etc/postgresql-common/createcluster.d"
    echo 'create_main_cluster = false' >"$1/etc/postgresql-common/createcluster.d/elah-tests.conf"
  SH

  # Arguments: the root, pairs of a folder here and its place there, `--`; then the command in the root.
  IN_NAMESPACES = <<~SH
    root=$1
    shift
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for device in #{DEVICES.join(' ')}; do : >"$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir "$root/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    while [ "$1" != -- ]; do mkdir -p "$1" "$root$2"; mount --bind "$1" "$root$2"; shift 2; done
    shift
    exec chroot "$root" "$@"
  SH

  # Raised when a root cannot be made, or a command in it fails.
  class Failure < StandardError; end

  class << self
    # @return [String, nil] why none can be entered here, and what would help
    def obstacle
      return "it mounts file systems, so it wants root: run it by `sudo`" unless Process.uid.zero?
      unless succeeds?("sh", "-c", "command -v mmdebstrap")
        return "there is no mmdebstrap: `bin/setup --machine` installs it"
      end
      unless succeeds?("unshare", "--mount", "--pid", "--fork", "true")
        return "this process may not make namespaces: run it outside of a container, or in a privileged one"
      end
      unless succeeds?("git", "-C", CHECKOUT, "rev-parse", "--verify", "HEAD")
        return "it clones the checkout, and git finds none here"
      end
      return unless ["", "/usr"].include?(rust)

      "the Rust here is part of the system: install one from https://rustup.rs, which is lent to it"
    end

    # @return [String] the folder of the toolchain
    def rust = Open3.capture2("rustc", "--print", "sysroot", chdir: CHECKOUT).first.chomp

    # Runs a command that ends with this process, and all that is in its namespaces with it. Raises Failure with these
    # words.
    def run(failure, *command, input: File::NULL)
      pid = Process.spawn(*command, in: input)
      status = Process.wait2(pid).last
      raise Failure, "#{failure}: #{status.to_s.sub(/\Apid \d+ /, '')}." unless status.success?
    ensure
      end_by_force(pid) if pid && !status
    end

    # Were a mount left, nothing behind it would be touched.
    def remove(root) = run("The root could not be removed", "rm", "-rf", "--one-file-system", root)

    private

    def succeeds?(*command) = system(*command, out: File::NULL, err: File::NULL)

    def end_by_force(pid)
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
  end

  # @param suite [String] of Debian
  # @param folder [String] where the root is made, and an archive of it
  # @param packages [Array<String>] as apt-get names them
  # @param more [Array<String>] suites of which single packages are taken
  def initialize(suite, folder, packages: [], more: [])
    @suite = suite
    @folder = folder
    @packages = packages
    @more = more
    FileUtils.mkdir_p(folder)
  end

  # @yield while no other process does the same in this folder
  def exclusively
    File.open(File.join(@folder, "lock"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      yield
    end
  end

  # @return [String] an archive of the root, made when there is none
  def archive = made("tar", ".tar")

  # @return [String] the root itself, made when there is none
  def root = made("directory", "")

  # Lets the root use the network as this machine does.
  def lend_network(root) = %w[/etc/resolv.conf /etc/hosts].each { |file| FileUtils.cp(file, File.join(root, file)) }

  # @param mounts [Hash{String=>String}] folders there by folders here
  # @param environment [Hash{String=>String, nil}] beside what every root has, or nil in place of it
  # @return [Array<String>] a command that runs the command in the root
  def self.enter(root, *command, mounts: {}, environment: {})
    path = "/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    variables = { "HOME" => "/root", "PATH" => path, **ENV.slice(*NETWORK), **QUICK_BUILD, **environment }.compact
    cargo = ENV.fetch("CARGO_HOME", File.join(Dir.home, ".cargo"))
    places = { rust => "/rust", cargo => "/root/.cargo", **mounts }.to_a.flatten
    ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", IN_NAMESPACES, "debian", root, *places, "--",
     "env", "-i", *variables.map { |pair| pair.join("=") }, *command]
  end

  private

  def made(format, extension)
    sources = apt_sources
    settings = apt_settings
    checksum = Digest::SHA256.hexdigest([@suite, sources, settings, @packages, hooks].join("\n"))[0, 16]
    place = File.join(@folder, "#{@suite}-#{checksum}#{extension}")
    return place if File.exist?(place)

    Dir[File.join(@folder, "#{@suite}-*")].each { |old| self.class.remove(old) }
    options = settings.map { |setting| "--aptopt=#{setting}" }
    options << "--include=#{@packages.join(',')}" if @packages.any?
    self.class.run("The Debian could not be made", "mmdebstrap", "--variant=minbase", "--format=#{format}",
                   *hooks, *options, @suite, "#{place}.part", *sources)
    File.rename("#{place}.part", place)
    place
  end

  def hooks
    scripts = [LEND_CERTIFICATES, *(REFUSE_CLUSTER if @packages.include?("postgresql"))]
    scripts.map { |script| "--essential-hook=#{script}" }
  end

  # The suite from where apt of this Debian has its own, and as mmdebstrap knows it on another system.
  def apt_sources
    codename = debian_codename or return []
    out, = Open3.capture2("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)",
                          "Created-By: Packages")
    all = out.lines(chomp: true).uniq.map { |line| line.split(" ", 3) }
    own = all.select { |_, suite, component| suite.start_with?(codename) && component == "main" }
    mirrors = own.filter_map { |uri, suite, _| uri if suite == codename }.first(1)
    own.map { |uri, suite, _| "deb #{uri} #{suite.sub(codename, @suite)} main" } +
      mirrors.product(@more).map { |uri, suite| "deb #{uri} #{suite} main" }
  end

  def debian_codename
    release = File.file?("/etc/os-release") ? File.read("/etc/os-release") : ""
    release[/^VERSION_CODENAME=(\w+)/, 1] if release.match?(/^ID=debian$/)
  end

  # How apt of this machine gets at it: proxies, and what it does not check.
  def apt_settings
    out, = Open3.capture2("apt-config", "dump", "Acquire")
    out.lines(chomp: true).grep(/\AAcquire::(https?|Retries|Check)\S* "[^"]/)
  end
end
