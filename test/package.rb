# frozen_string_literal: true

require "fileutils"
require_relative "debian_root"
require_relative "../lib/elah/version"

# Owns the proof that a package works where it is installed: on a minimal Debian with Ruby and Rack that has neither
# Rust, a compiler nor a network. Run as a program with a machine's name it proves it for the file in pkg/.
class PackageProof
  ROOT = File.expand_path("..", __dir__)

  # file:: in pkg/
  # ruby:: the command
  # suite:: of Debian
  # packages:: installed beside ruby-rack
  # later:: suite from which some of these come
  # emulated:: Debian's name of the processor, where it is not the one of this machine
  Machine = Struct.new(:file, :ruby, :suite, :packages, :later, :emulated, keyword_init: true)

  GEM = "elah-#{Elah::VERSION}-%s.gem".freeze
  GNU = format(GEM, "x86_64-linux-gnu").freeze
  DEB = "elah_#{Elah::VERSION}_amd64.deb".freeze
  MACHINES = {
    "ruby-3.1" => Machine.new(file: GNU, ruby: "ruby3.1", suite: "bookworm", packages: %w[ruby]),
    "ruby-3.3" => Machine.new(file: GNU, ruby: "ruby3.3", suite: "trixie", packages: %w[ruby]),
    "ruby-3.4" => Machine.new(file: GNU, ruby: "ruby3.4", suite: "trixie", later: "experimental",
                              packages: %w[ruby3.4/experimental libruby3.4/experimental]),
    "bookworm-deb" => Machine.new(file: DEB, ruby: "ruby", suite: "bookworm", packages: %w[ruby]),
    "trixie-deb" => Machine.new(file: DEB, ruby: "ruby", suite: "trixie", packages: %w[ruby]),
    "aarch64" => Machine.new(file: format(GEM, "aarch64-linux-gnu"), ruby: "ruby3.3", suite: "trixie",
                             packages: %w[ruby dash coreutils], emulated: "arm64")
  }.freeze

  # A network of its own has the loopback interface, which is down.
  NAMESPACES = %w[unshare --mount --pid --net --fork --kill-child].freeze

  # Registers qemu for programs of that processor, in a namespace of users that has a register of its own. Arguments:
  # qemu; then as DebianRoot's.
  EMULATED = %w[--user --map-root-user].freeze
  QEMU = "qemu-aarch64-static"
  REGISTER = <<~'SH'
    mount -t binfmt_misc binfmt /proc/sys/fs/binfmt_misc
    head='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf '%s' ":elah:M::$head:$mask:$1:F" >/proc/sys/fs/binfmt_misc/register
    shift
  SH

  # The commands of the step `package` of `bin/test`, by what they prove.
  def self.commands
    parts = %w[x86_64-linux-gnu deb-x86_64 aarch64-linux-gnu]
    { **parts.to_h { |part| ["bin/package #{part}", ["bin/package", part]] },
      **MACHINES.keys.to_h { |name| [name, [RbConfig.ruby, "test/package.rb", name]] },
      "image" => [RbConfig.ruby, "test/package/image.rb"] }
  end

  def initialize(name)
    @machine = MACHINES.fetch(name) { abort "There is no machine #{name}; there are #{MACHINES.keys.join(", ")}." }
    @folder = File.join(ROOT, "tmp/package", [@machine.suite, @machine.later, @machine.emulated].compact.join("-"))
    packages = [*@machine.packages, "ruby-rack"]
    @debian = DebianRoot.new(@machine.suite, @folder, packages: packages, more: [*@machine.later])
  end

  def prove
    obstacle = DebianRoot.obstacle and raise DebianRoot::Failure, "This cannot run here: #{obstacle}."
    @debian.exclusively do
      DebianRoot.remove(root)
      FileUtils.mkdir_p(root)
      @machine.emulated ? unpack_packages : unpack_archive
      give
      DebianRoot.run("It failed", *enter(@machine.ruby, "/given/inside.rb", "/given/#{@machine.file}"))
    ensure
      DebianRoot.remove(root)
    end
  end

  private

  def root = File.join(@folder, "root")
  def qemu = File.join(@folder, "qemu", "usr/bin", QEMU)

  def unpack_archive
    DebianRoot.run("The Debian could not be unpacked",
                   "tar", "--extract", "--numeric-owner", "--file", @debian.archive, "--directory", root)
  end

  # Packages of another processor, which are not configured: what they contain is enough.
  def unpack_packages
    DebianRoot.run("The packages could not be unpacked",
                   "mmdebstrap", "--quiet", "--variant=extract", "--architectures=#{@machine.emulated}",
                   "--include=#{@machine.packages.join(",")},ruby-rack", @machine.suite, root)
    FileUtils.mkdir_p(File.join(root, "usr/local/bin"))
    absent = %w[bin sbin lib].reject { |folder| File.exist?(File.join(root, folder)) }
    absent.each { |folder| FileUtils.ln_s("usr/#{folder}", File.join(root, folder)) }
    return if File.exist?(qemu)

    fetch = 'cd "$1"; apt-get download qemu-user-static; dpkg --extract qemu-user-static_*.deb qemu'
    DebianRoot.run("qemu could not be fetched", "sh", "-ec", fetch, "sh", @folder)
  end

  def give
    given = File.join(root, "given")
    FileUtils.mkdir_p([given, File.join(root, "sys"), File.join(root, "proc")])
    files = ["pkg/#{@machine.file}", "README.md", "test/package/inside.rb"]
    FileUtils.cp(files.map { |file| File.join(ROOT, file) }, given)
  end

  def enter(*command)
    environment = %w[env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin]
    inside = [root, "--", *environment, *command]
    return [*NAMESPACES, "sh", "-ec", DebianRoot::IN_NAMESPACES, "package", *inside] unless @machine.emulated

    [*NAMESPACES, *EMULATED, "sh", "-ec", REGISTER + DebianRoot::IN_NAMESPACES, "package", qemu, *inside]
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  begin
    PackageProof.new(ARGV.first.to_s).prove
  rescue DebianRoot::Failure => e
    abort e.message
  end
end
