# frozen_string_literal: true

require "test_helper"
require "open3"
require "tmpdir"

# Where the extension is looked for, and what is said when the gem has none for this Ruby.
class NativeTest < Minitest::Test
  LIB = File.expand_path("../../lib", __dir__)
  MINOR = RUBY_VERSION[/\d+\.\d+/]

  # A copy of the library whose extension is in the folders of these Rubies alone.
  def with_extension_for(*versions)
    Dir.mktmpdir do |folder|
      FileUtils.cp_r(LIB, folder)
      extension = File.join(folder, "lib/elah/elah.so")
      versions.each do |version|
        FileUtils.mkdir_p(File.join(folder, "lib/elah", version))
        FileUtils.ln(extension, File.join(folder, "lib/elah", version, "elah.so"))
      end
      File.delete(extension)
      script = 'begin; require "elah"; puts $LOADED_FEATURES.grep(/elah\.so/)
                rescue Elah::Error => e; puts e.class, e.message; end'
      out, = Open3.capture2e({ "RUBYLIB" => nil }, RbConfig.ruby, "-I#{folder}/lib", "-e", script)
      yield out.lines(chomp: true), folder
    end
  end

  def test_each_ruby_has_its_own
    with_extension_for("2.7", MINOR) do |out, folder|
      assert_equal ["#{File.realpath(folder)}/lib/elah/#{MINOR}/elah.so"], out
    end
  end

  def test_a_ruby_that_the_precompiled_gem_has_none_for_is_told_what_to_do
    with_extension_for("2.7", "9.10", "9.9") do |(name, message), _|
      assert_equal "Elah::ExtensionMissing", name
      assert_equal "Elah's native extension is not built for Ruby #{RUBY_VERSION}. " \
                   "This precompiled gem is for Ruby 2.7, 9.9, 9.10: use one of these, " \
                   "or build it for this Ruby with `gem install elah --platform ruby`, which needs Rust. " \
                   "(cannot load such file -- elah/elah)", message
    end
  end

  def test_without_any_it_is_to_be_built
    with_extension_for do |out, _|
      assert_includes out.last, "In a checkout run bin/setup; as a gem run `gem pristine elah`. "
    end
  end
end
