# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../targets/target"

# Targets: which URLs a link may lead to.
class TargetsTest < Minitest::Test
  include Links::Targets

  def test_spellings_of_a_host
    {
      "EXAMPLE.com." => "example.com", "a_b.example" => "a_b.example", "127.1" => "127.0.0.1", "0x7f.1" => "127.0.0.1",
      "0177.0.0.1" => "127.0.0.1", "2130706433" => "127.0.0.1", "0x7F000001" => "127.0.0.1", "1.2.3.4" => "1.2.3.4",
      "1.2.3.4." => "1.2.3.4", "[::1]" => "::1", "[0:0::0:1]" => "::1", "[::ffff:127.0.0.1]" => "127.0.0.1",
      "[2001:DB8::0]" => "2001:db8::", "0x" => "0.0.0.0", "1.2.0x0304" => "1.2.3.4"
    }.each { |text, host| assert_equal host, Host.canonical(text), text }
  end

  def test_invalid_hosts
    ["", ".", "a..b", "-a.b", "a-.b-", "a b", "a%41", "256.1.1.1", "1.2.3.4.5", "1.2.3.08", "4294967296",
     "[::1", "[fe80::1%25eth0]", "[1.2.3.4]", "bücher", "#{'a' * 64}.de", (["a" * 60] * 5).join("."),
     "a,b", "a\0b"].each do |text|
      assert_nil Host.canonical(text), text
    end
  end

  def test_names_of_this_machine
    %w[localhost LOCALHOST. my.localhost 127.0.0.1 127.8.9.1 127.1 0 0.0.0.0 [::1] [::]
       [::ffff:127.0.0.1]].each do |text|
      assert Host.loopback?(Host.canonical(text)), text
    end
    %w[localhost.example 128.0.0.1 example.com [::2] 127.0.0.1.example].each do |text|
      refute Host.loopback?(Host.canonical(text)), text
    end
  end

  def test_a_target_must_not_lead_back
    own = [place("127.0.0.1:9301"), place("sho.rt")]
    ["http://localhost:9301/x", "http://127.1:9301", "http://[::1]:9301/", "HTTP://LOCALHOST.:9301/", "https://0:9301/",
     "http://sho.rt/x", "https://sho.rt/x", "https://SHO.RT.:443/", "http://sho.rt:80?x",
     "http://sho.rt:0080#x"].each do |url|
      assert_equal "target_loops", refusal(url, own: own), url
    end
    ["http://localhost:9302/", "http://localhost/", "https://sho.rt:8443/", "https://www.sho.rt/",
     "https://sho.rt.example/"].each do |url|
      assert_equal url, Target.check(url, own: own)
    end
  end

  def test_valid_targets_are_unchanged
    ["https://example.com", "HTTP://Example.COM:80/%0d%0a?a=b&c=[]#'\"<>", "https://example.com/a@b",
     "http://1.2.3.4:65535/"].each do |url|
      assert_equal url, Target.check(url)
    end
  end

  def test_a_plain_host_is_its_own_canonical_form
    label = "a#{'-' * 59}b"
    hosts = ["example.com", "a.bc", "1.xn--bcher-kva.de", "my.localhost", "#{label}.#{label}.#{label}.#{'c' * 61}"]
    hosts.each do |host|
      url = "https://#{host}/x"
      assert_equal host, url[Target::PLAIN, 1]
      assert_equal host, Host.canonical(host)
      assert_equal "target_loops", refusal(url, own: [place(host)])
    end
    ["1.2.3.4", "a.b1", "a..bc", "-a.bc", "a-.bc", "a_b.example", "EXAMPLE.com", "example.com.", "example.com:80",
     "u@example.com", "localhost", "#{'a' * 62}.com", "a.b.c.d.com"].each do |host|
      refute_match Target::PLAIN, "https://#{host}/x"
    end
    ["a b", "a\\b", "a\u007f", "\u00fc", "a\n"].each do |rest|
      refute_match Target::PLAIN, "https://example.com/#{rest}"
    end
  end

  def test_everything_outside_ascii_is_encoded
    assert_equal "https://example.com/%C3%BC/%F0%9F%98%80?%E6%97%A5#%C3%9F", Target.check("https://example.com/ü/😀?日#ß")
  end

  def test_nothing_that_ends_a_header_or_hides_passes
    seen = "https://example.com/"
    (0..0x20).to_a.push(0x7f, 0x80, 0x85, 0xa0, 0x200b, 0x202e, 0x2028, 0x2066, 0x3000, 0xfeff).each do |number|
      character = [number].pack("U")
      [seen + character, seen + character + "x", character + seen].each do |url|
        assert_equal "invalid_target", refusal(url), url.inspect
      end
    end
    assert_equal "invalid_target", refusal("https://example.com/\xff")
  end

  def test_the_length_is_bounded_after_encoding
    assert_equal 4096, Target.check("https://example.com/#{'a' * 4076}").bytesize
    assert_equal "invalid_target", refusal("https://example.com/#{'a' * 4077}")
    assert_equal "invalid_target", refusal("https://example.com/#{'ü' * 700}")
  end

  # One of 10 MB was encoded before its length was looked at, and held all requests of its worker for 15 s.
  def test_a_long_text_is_refused_unread
    methods = %i[valid_encoding? match match? gsub []]
    text = Class.new(String) { methods.each { |name| define_method(name) { |*| raise name.to_s } } }
    assert_equal "invalid_target", refusal(text.new("https://example.com/#{'ü' * 2039}"))
  end

  def test_schemes_and_shapes
    {
      "scheme_refused" => ["javascript:alert(1)", "JavaScript://x/%0aalert(1)", "data:text/html,x",
                           "file:///etc/passwd", "ftp://example.com/", "mailto:a@b.example"],
      "invalid_target" => ["https:example.com", "https:/example.com", "https:\\\\example.com", "https://", "https://?x",
                           "//example.com", "/x", "example.com/x", "", "https://a:b@example.com/",
                           "https://@example.com/", "https://example.com:0/", "https://example.com:x/",
                           "https://example.com:65536/", "https://example.com:1:2/",
                           "https://example.com\\.evil.example/", "https://example.com/\\x", "https://%65xample.com/"]
    }.each { |code, urls| urls.each { |url| assert_equal code, refusal(url), url } }
  end

  private

  def place(text) = Authority.parse(text, 80)

  def refusal(url, **rest) = assert_raises(Links::Invalid, url.inspect) { Target.check(url, **rest) }.code
end
