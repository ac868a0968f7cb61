# frozen_string_literal: true

require "test_helper"

# To what a file of Ruby code belongs, by its path.
class GemOriginTest < Minitest::Test
  def origin(path) = Elah::GemOrigin.of(path)&.to_s

  def test_folders_of_gems
    assert_equal "mysql2 0.5.6", origin("/usr/lib/ruby/gems/3.3.0/gems/mysql2-0.5.6/lib/mysql2/client.rb")
    assert_equal "rack-test 2.2.0", origin("/srv/shop/vendor/bundle/ruby/3.3.0/gems/rack-test-2.2.0/lib/rack/test.rb")
    assert_equal "nokogiri 1.18.1-x86_64-linux",
                 origin("/var/lib/gems/3.3.0/gems/nokogiri-1.18.1-x86_64-linux/lib/nokogiri.rb")
    assert_equal "my-gem 0123456789ab", origin("/home/app/ruby/3.3.0/bundler/gems/my-gem-0123456789ab/lib/my/gem.rb")
  end

  # Debian's packages have one folder for all gems.
  def test_the_folder_of_a_distribution
    folder = RbConfig::CONFIG["vendordir"]
    assert_equal "minitest-of-nobody", origin("#{folder}/minitest-of-nobody/deep/file.rb")
    specification = Gem.loaded_specs.fetch("minitest")
    assert_equal "minitest #{specification.version}", origin("#{folder}/minitest/assertions.rb")
    assert_nil origin("#{folder}/rubygems/version.rb")
  end

  def test_ruby_elah_and_the_app_are_no_gems
    ruby = File.join(RbConfig::CONFIG["rubylibdir"], "net/http.rb")
    elah = File.expand_path("../../lib/elah/server.rb", __dir__)
    paths = [ruby, elah, "<internal:kernel>", "/srv/shop/app.rb"]
    assert_equal([nil] * 4, paths.map { |path| origin(path) })
    assert_equal([false, false, false, true], paths.map { |path| Elah::GemOrigin.app?(path) })
    refute Elah::GemOrigin.app?("(endpoint GET /x)")
    refute Elah::GemOrigin.app?("/usr/lib/ruby/gems/3.3.0/gems/mysql2-0.5.6/lib/mysql2/client.rb")
  end

  def test_paths_of_any_bytes
    [Encoding::UTF_8, Encoding::US_ASCII, Encoding::BINARY].each do |encoding|
      path = "/srv/caf\xC3\xA9\xFF/gems/odd-1.0/a.rb".dup.force_encoding(encoding)
      assert_equal "odd 1.0", origin(path)
      assert Elah::GemOrigin.app?("/srv/caf\xC3\xA9\xFF/app.rb".dup.force_encoding(encoding))
    end
  end
end
