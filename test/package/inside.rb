# frozen_string_literal: true

# What a user does with the gem or Debian package that is the argument, on the machine that test/package.rb has made:
# installs it, and serves the first example of the README. Runs inside that machine, by its Ruby.
require "json"
require "open3"
require "rbconfig"
require "socket"

FILE = ARGV.fetch(0)
README = "/given/README.md"
SIOCSIFFLAGS = 0x8914
IFF_UP = 1

def must(condition, sentence)
  condition ? puts("package: #{sentence}") : abort("package: it is not so that #{sentence}")
end

def run(*command)
  out, status = Open3.capture2e(*command)
  status.success? ? out : abort("package: #{command.join(" ")} failed:\n#{out}")
end

# Yields the address of a server of this app file until the block is done; ends it by TERM.
def serve(path)
  flags = %w[--bind tcp://127.0.0.1:0 --data /tmp/data --run-dir /tmp/run]
  IO.popen(["elah", "serve", path, *flags, err: %i[child out]]) do |server|
    log = +""
    log << server.readline until (port = log[%r{listening on tcp://127\.0\.0\.1:(\d+)}, 1])
    yield Integer(port)
    Process.kill(:TERM, server.pid)
    log << server.read
  rescue EOFError
    abort "package: the server did not start:\n#{log}"
  end
  must($?.success?, "the server ends well")
end

def get(port, path)
  TCPSocket.open("127.0.0.1", port) do |socket|
    socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    head, body = socket.read.split("\r\n\r\n", 2)
    [Integer(head[/\A\S+ (\d+)/, 1]), body]
  end
end

Socket.new(:INET, :DGRAM).ioctl(SIOCSIFFLAGS, ["lo", IFF_UP].pack("a16s x14"))

compilers = %w[cargo rustc cc gcc clang].select { |name| system("command -v #{name} >/dev/null") }
must(compilers.empty?, "there is neither Rust nor a compiler")
must(Socket.getifaddrs.map(&:name).uniq == ["lo"], "there is no network")

if FILE.end_with?(".deb")
  run("dpkg", "--install", FILE)
else
  run(RbConfig.ruby, "-S", "gem", "install", "--local", "--no-document", "--bindir", "/usr/local/bin", FILE)
end
known = run(RbConfig.ruby, "-e", 'gem "elah"; require "elah"; print Gem.loaded_specs.fetch("elah").version')
must(known == FILE[/[_-](\d[\d.]*\d)[_-]/, 1], "RubyGems knows it")
version = run("elah", "version")
must(version.include?("ruby #{RUBY_VERSION}"), "`elah version` says #{version.chomp}")

clients = run(RbConfig.ruby, "-e", <<~SCRIPT)
  require "elah"
  puts Elah::SQL, Elah::Redis, Elah::Mongo, Elah::Sink::ParquetFiles, $LOADED_FEATURES.grep(/elah\.so/)
SCRIPT
must(clients.lines.size == 5, "the native clients are there, from #{clients.lines.last.chomp}")

File.write("/tmp/app.rb", File.read(README, encoding: "UTF-8")[/^```ruby app\n(.*?)^```$/m, 1])
serve("/tmp/app.rb") do |port|
  status, body = get(port, "/hello/Ada")
  is_right = status == 200 && JSON.parse(body) == { "message" => "Hello, Ada" }
  must(is_right, "the README's first example answers #{status} #{body}")
end

File.write("/tmp/config.ru", 'run ->(env) { [200, { "content-type" => "text/plain" }, [env["PATH_INFO"]]] }')
serve("/tmp/config.ru") { |port| must(get(port, "/rack") == [200, "/rack"], "a Rack app answers") }
