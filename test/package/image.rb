# frozen_string_literal: true

require "fileutils"
require "json"
require "open3"
require "socket"
require_relative "../debian_root"

# Owns the proof of package/Dockerfile: buildah builds it without a daemon and runs the image in a network of its own. A
# minimal Debian that mmdebstrap has made stands in for the base image, since no registry is asked.
class ImageProof
  ROOT = File.expand_path("../..", __dir__)
  FOLDER = File.join(ROOT, "tmp/package/image")
  BASE = "docker.io/library/debian:trixie-slim"
  IMAGE = "localhost/elah-proof"
  BYTES_MAX = 120_000_000
  SECONDS = 120

  # It has a server of its own to answer on port 9292.
  NAMESPACES = %w[unshare --net --mount --pid --fork --kill-child --mount-proc].freeze
  SIOCSIFFLAGS = 0x8914
  IFF_UP = 1

  def self.obstacle
    return if (obstacle = DebianRoot.obstacle).nil? && system("sh", "-c", "command -v buildah", out: File::NULL)

    obstacle || "there is no buildah: run `apt-get install buildah`"
  end

  def prove
    obstacle = self.class.obstacle and abort "This cannot run here: #{obstacle}."
    FileUtils.mkdir_p(FOLDER)
    import_base
    buildah("build", "--pull-never", "--isolation", "chroot", "--format", "docker", "--file", "package/Dockerfile",
            "--build-arg", "APP=tmp/package/image/app", "--tag", IMAGE, ".")
    check_size
    check_settings
    exec(*NAMESPACES, RbConfig.ruby, __FILE__, "run")
  end

  # Inside the network of its own: the image's command, as its user, and its own check of health.
  def run
    Socket.new(:INET, :DGRAM).ioctl(SIOCSIFFLAGS, ["lo", IFF_UP].pack("a16s x14"))
    container = buildah("from", "--pull-never", IMAGE).chomp
    server = Process.spawn(*command("run", "--isolation", "chroot", container, "--", *settings.fetch("Cmd")))
    must("the image's own check of health passes") { wait_until_healthy(container, server) }
    must("it serves the app") { get("/hello/Ada").end_with?('{"message":"Hello, Ada"}') }
    must("it runs as the image's user") { File.stat("/proc/#{server_process}").uid == 10_001 }
    Process.kill(:TERM, server_process)
    must("it ends well by TERM") { Process.wait2(server).last.success? }
    must("a check of health fails without it") { !healthy?(container) }
  ensure
    buildah("rm", container) if container
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def must(sentence) = yield ? puts("image: #{sentence}") : abort("image: it is not so that #{sentence}")

  def command(*words)
    ["buildah", "--storage-driver", "vfs", "--root", "#{FOLDER}/storage", "--runroot", "#{FOLDER}/run", *words]
  end

  def buildah(*words)
    out, status = Open3.capture2(*command(*words), chdir: ROOT)
    status.success? ? out : abort("image: buildah #{words.join(" ")} failed:\n#{out}")
  end

  def import_base
    FileUtils.mkdir_p("#{FOLDER}/app")
    example = File.read("#{ROOT}/README.md")[/^```ruby app\n(.*?)^```$/m, 1]
    File.write("#{FOLDER}/app/config.ru", "require \"elah\"\n#{example}")
    archive = DebianRoot.new("trixie", "#{FOLDER}/base").archive
    container = buildah("from", "scratch").chomp
    buildah("add", "--quiet", container, archive, "/")
    buildah("commit", "--quiet", "--rm", container, BASE)
  end

  def settings = @settings ||= JSON.parse(buildah("inspect", "--type", "image", IMAGE)).fetch("Docker").fetch("config")

  def check_settings
    must("the image has a user, a check of health and a port") do
      settings["User"] == "app" && settings["Healthcheck"] && settings["ExposedPorts"].key?("9292/tcp")
    end
  end

  # What the layers hold when they are unpacked.
  def check_size
    FileUtils.rm_rf("#{FOLDER}/layers")
    buildah("push", "--quiet", IMAGE, "dir:#{FOLDER}/layers")
    manifest = JSON.parse(File.read("#{FOLDER}/layers/manifest.json"))
    digests = manifest.fetch("layers").map { |layer| layer.fetch("digest") }
    layers = digests.map { |digest| "#{FOLDER}/layers/#{digest.delete_prefix("sha256:")}" }
    stored = layers.map { |layer| File.size(layer) }
    sizes = layers.map { |layer| Integer(`gzip --decompress --stdout --force <#{layer} | wc --bytes`) }
    megabytes = sizes.map { |bytes| (bytes / 1e6).round(1) }
    puts "image: layers of #{megabytes.join(", ")} MB, #{stored.sum / 1_000_000} MB compressed"
    must("the layers are less than #{BYTES_MAX / 1_000_000} MB together") { sizes.sum < BYTES_MAX }
  end

  def wait_until_healthy(container, server)
    deadline = now + SECONDS
    loop do
      return true if healthy?(container)
      return false if now > deadline || Process.wait(server, Process::WNOHANG)
    end
  end

  def healthy?(container)
    type, *words = settings.fetch("Healthcheck").fetch("Test")
    abort "image: the check of health is no command" unless type == "CMD"
    system(*command("run", "--isolation", "chroot", container, "--", *words), out: File::NULL, err: File::NULL)
  end

  # The number of the server's process in this namespace.
  def server_process
    exe = Dir["/proc/[0-9]*/exe"].find do |path|
      File.readlink(path).include?("/bin/ruby") && File.read(path.sub("exe", "cmdline")).include?("\0serve\0")
    end
    exe ? Integer(exe[/\d+/]) : abort("image: the server does not run")
  end

  def get(path)
    TCPSocket.open("127.0.0.1", 9292) do |socket|
      socket.write("GET #{path} HTTP/1.0\r\n\r\n")
      socket.read
    end
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  ARGV.first == "run" ? ImageProof.new.run : ImageProof.new.prove
end
