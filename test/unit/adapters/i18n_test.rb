# frozen_string_literal: true

require "test_helper"
require "support/gems"

return unless Gems.present?("i18n")

require "i18n"

# The locale of a request, with the version of i18n that is installed, and as 1.14.8 keeps it: the locale of one request
# was that of all others.
class I18nAdapterTest < Minitest::Test
  # Where 1.14.8 keeps it on every Ruby, and later versions on Ruby 3.1.
  module InThread
    def config = Thread.current.thread_variable_get(:i18n_config) || self.config = ::I18n::Config.new

    def config=(value)
      Thread.current.thread_variable_set(:i18n_config, value)
    end
  end

  def setup
    I18n.available_locales = %i[en de fr]
  end

  # Each sets its locale while the others wait.
  def locales
    Elah.run do
      are_set = { de: Queue.new, fr: Queue.new }
      tasks = %i[de fr].permutation.map do |locale, other|
        Elah.async do
          I18n.locale = locale
          are_set[locale] << true
          are_set[other].pop
          I18n.locale
        end
      end
      [*tasks.map(&:value), Elah.async { I18n.locale }.value]
    end
  end

  def test_each_fiber_has_its_locale
    I18n.extend(InThread)
    refute_equal %i[de fr en], locales
    assert_includes Elah::Adapters.install, :I18n
    assert_includes Elah::Adapters.install, :I18n
    assert_equal %i[de fr en], locales
    Fiber.new do
      I18n.config.freeze
      I18n.writable_config.locale = :de
      assert_equal :de, I18n.locale
    end.resume
  end
end
