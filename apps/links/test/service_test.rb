# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../service"

# The addresses of a service.
class ServiceTest < Minitest::Test
  # A service without a store, which these tests do not need.
  def service(**options) = Links::Service.new(nil, **options)

  def test_short_urls_begin_with_the_base_url_or_the_requested_host
    assert_equal "http://127.0.0.1:9301", service.base_url("127.0.0.1:9301")
    assert_equal "https://sho.rt", service(base_url: "https://sho.rt/").base_url("127.0.0.1:9301")
  end

  def test_own_authorities_are_the_base_url_the_hosts_and_the_requested_host
    places = service(base_url: "https://sho.rt", hosts: ["Old.example:8080"]).own_places("LOCALHOST:9301").map(&:to_a)
    assert_equal [["old.example", 8080], ["sho.rt", 80], ["localhost", 9301]], places
    assert_equal [], service.own_places(nil)
  end

  def test_own_authorities_of_the_last_requested_host_are_cached
    service = service(hosts: ["sho.rt"])
    ["a.example", nil, "b.example", "b.example", "no host", "a.example"].each do |host|
      expected = ["sho.rt", *host&.[](/\A[ab]\.example\z/)]
      assert_equal expected, service.own_places(host).map(&:host), host.inspect
      assert_same service.own_places(host), service.own_places(host.dup)
    end
  end

  def test_wrong_settings_name_the_valid_form
    ["sho.rt", "https://sho.rt/path"].each do |url|
      error = assert_raises(Elah::OptionError) { service(base_url: url) }
      assert_match(/links_base_url must be http/, error.message)
    end
    error = assert_raises(Elah::OptionError) { service(hosts: ["https://x"]) }
    assert_match(/links_hosts must list hosts/, error.message)
  end
end
