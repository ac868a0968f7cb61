# frozen_string_literal: true

# `bin/try` without its set-up: every app starts, what it prints to try works as it stands, and ^C ends all.
require "test_helper"
require "json"
require "net/http"
require "open3"
require "socket"
require "support/patience"
require "tmpdir"

class TryTest < Minitest::Test
  include Patience

  ROOT = File.expand_path("../..", __dir__)
  SCRIPT = 'require "./apps/try"; $stdout.sync = true; Try.new(Try.names, folder: ARGV.first).run'

  def test_every_line_that_is_printed_works
    Dir.mktmpdir do |folder|
      printed = run_try(folder) do |lines|
        curls = lines.grep(/\A  (curl|.*\| curl) /)
        assert_operator curls.size, :>, 5
        wait_until("the live page has something to show") { accepted(lines) > 20 }
        Dir.mktmpdir do |checkout|
          curls.each do |line|
            out, status = Open3.capture2e("sh", "-c", "#{line.chomp} -sS --fail", chdir: checkout)
            assert_predicate status, :success?, "#{line}#{out}#{logs(folder)}"
          end
          assert_empty Dir.children(checkout), "lines leave files where they are run"
        end
        assert_path_exists File.join(folder, "ruby.png")
      end
      urls = printed.filter_map { |line| line[/\A\w+: http:(\S+)/, 1] }
      assert_equal Dir[File.join(ROOT, "apps/*/app.rb")].size, urls.size
      urls.each { |url| assert_raises(Errno::ECONNREFUSED) { Socket.tcp(*url.delete("/").split(":")).close } }
    end
  end

  def test_a_taken_port_is_told_and_passed_over
    taken = begin
      TCPServer.new("127.0.0.1", 9301)
    rescue Errno::EADDRINUSE
      nil
    end
    Dir.mktmpdir do |folder|
      lines = run_try(folder) { nil }
      assert_match(/\APort 9301 is taken; links takes \d+\./, lines.first)
      refute_includes lines.join, "127.0.0.1:9301"
    end
  ensure
    taken&.close
  end

  private

  # Events that the collector has taken.
  def accepted(lines)
    url = lines.join[/^stats: (\S+)/, 1]
    JSON.parse(Net::HTTP.get(URI("#{url}/sinks"))).dig("sinks", 0, "total", "accepted")
  end

  def logs(folder) = Dir[File.join(folder, "*.log")].map { |log| "\n#{log}\n#{File.read(log)}" }.join

  # Yields what was printed when all is up, then presses ^C.
  def run_try(folder)
    Open3.popen2e(RbConfig.ruby, "--disable=gems", "-e", SCRIPT, folder, chdir: ROOT) do |_, output, process|
      lines = []
      while (line = output.gets)
        lines << line
        break if line.start_with?("All run")
      end
      assert_match(/\AAll run until/, lines.last)
      yield lines
      lines
    ensure
      Process.kill(:INT, process.pid)
      assert_predicate process.value, :success?
    end
  end
end
