# frozen_string_literal: true

# The docs are correct: links resolve, generated parts are current, marked code blocks run. The second word of a fence
# marks a block: `ruby run` is a script, `ruby app` an app file that must start, `ruby config` a config file, `ruby
# redis` a script with a client `redis`, `ruby cluster` an app file that must start in a folder and on a database, `sh
# run` commands at the top of the checkout.
require "test_helper"
require "open3"
require "tempfile"
require "support/elah_server"
require "support/gems"
require "support/servers"

class DocsTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)
  PAGES = Dir.chdir(ROOT) { Dir["*.md", "docs/**/*.md", "apps/*/*.md", "specs/*.md", "bench/*.md", "lab/*.md"] }.sort
  # Libraries that a block may load and a Ruby may lack.
  GEMS = %w[mongo mysql2 pg redis sqlite3].freeze
  BLOCK = /^```(?<language>ruby|sh) (?<kind>\w+)\n(?<code>.*?)^```$/m.freeze

  def self.blocks(page)
    text = File.read(File.join(ROOT, page))
    text.enum_for(:scan, BLOCK).map do
      match = Regexp.last_match
      [match.pre_match.count("\n") + 1, match[:language], match[:kind], match[:code]]
    end
  end

  PAGES.each do |page|
    define_method("test_links_of_#{page}") do
      text = File.read(File.join(ROOT, page)).gsub(/^```.*?^```$/m, "")
      text.scan(/\[[^\]]*\]\(([^)\s]+)\)/).flatten.grep_v(/\A(https?|mailto):/).each do |link|
        path, anchor = link.split("#", 2)
        target = path.empty? ? File.join(ROOT, page) : File.expand_path(path, File.join(ROOT, File.dirname(page)))
        assert_path_exists target, "#{page} links to #{link}"
        assert_includes anchors(target), anchor, "#{page} links to #{link}" if anchor && target.end_with?(".md")
      end
    end

    blocks(page).each do |line, language, kind, code|
      define_method("test_block_#{page}:#{line}_#{language}_#{kind}") { send("check_#{language}_#{kind}", code) }
    end
  end

  Dir.chdir(ROOT) { Dir["examples/*.{rb,ru}"] }.sort.each do |example|
    define_method("test_#{example}_is_short_and_starts") do
      path = File.join(ROOT, example)
      assert_operator File.readlines(path).size, :<=, 30
      ElahServer.start(path) { |server| assert_operator server.get("/").status, :<, 500, server.log }
    end
  end

  def test_generated_tables_are_current
    require "elah/config/options/reference"
    page = File.read(File.join(ROOT, "docs/configuration.md"))
    assert page.include?(Elah::Options::Reference.markdown),
           "docs/configuration.md is behind the table of options: run bin/docs"
  end

  private

  # How GitHub names the headings of a page.
  def anchors(page)
    File.read(page).scan(/^#+ (.+)$/).flatten.map { |heading| heading.downcase.gsub(/[^\w\- ]/, "").tr(" ", "-") }
  end

  def check_ruby_run(code)
    (code.scan(/require "(\w+)"/).flatten & GEMS).each { |name| Gems.missing(name)&.then { |reason| skip reason } }
    # From a file: its text is UTF-8 whatever the locale.
    Tempfile.create(["example", ".rb"]) do |file|
      file.write(code)
      file.close
      out, status = Open3.capture2e(RbConfig.ruby, "-Ilib", file.path, chdir: ROOT)
      assert_predicate status, :success?, out
    end
  end

  def check_ruby_redis(code)
    url = Servers::Redis.shared.url
    check_ruby_run("require 'elah'\nredis = Elah::Redis.new('#{url}')\n#{code.gsub('redis://127.0.0.1:6379/0', url)}")
  end

  def check_ruby_app(code)
    ElahServer.start(code) { |server| assert_operator server.get("/").status, :<, 500, server.log }
  end

  def check_ruby_cluster(code)
    check_ruby_app(code)
    ElahServer.start(code, cluster: Servers::PostgreSQL.shared.url) do |server|
      assert_operator server.get("/").status, :<, 500, server.log
    end
  end

  def check_ruby_config(code)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "elah.rb")
      File.write(path, code)
      Elah::Config.load(flags: { config: path }, env: {})
    end
  end

  def check_sh_run(code)
    out, status = Open3.capture2e("sh", "-e", stdin_data: code, chdir: ROOT)
    assert_predicate status, :success?, out
  end
end
