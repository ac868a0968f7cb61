# frozen_string_literal: true

require "support/api_case"

# Cookies in and out.
class APICookiesTest < APICase
  Cookies = Elah::Framework::Cookies

  def test_reads_what_the_client_sent
    cookies = Cookies.new("a=1; b=two%20words; c=x=y; a=later; broken")
    assert_equal({ "a" => "1", "b" => "two words", "c" => "x=y" }, cookies.to_h)
    assert_equal "1", cookies[:a]
    assert_empty Cookies.new(nil).to_a
    assert_equal "%zz", Cookies.new("a=%zz")[:a]
  end

  # It was UTF-8 that no method of String accepts.
  def test_bytes_that_are_no_text_are_binary
    ["a=%FF", "a=\xFF".b, "a=\xC3%28".b].each do |header|
      assert_equal Encoding::BINARY, Cookies.new(header)[:a].encoding, header
    end
    assert_equal "größe", Cookies.new("a=gr%C3%B6\xC3\x9Fe".b)[:a]
  end

  # A comma began another cookie: a sister domain could set `theme=dark,__Host-session=stolen`, while browsers refuse
  # its `__Host-session`.
  def test_a_comma_belongs_to_the_value
    cookies = Cookies.new("theme=dark,__Host-session=stolen; __Host-session=own;last=1")
    assert_equal({ "theme" => "dark,__Host-session=stolen", "__Host-session" => "own", "last" => "1" }, cookies.to_h)
  end

  def test_sends_only_what_was_assigned
    cookies = Cookies.new("a=1")
    cookies[:b] = "x y;"
    cookies[:c] = { value: "v", path: "/p", domain: "d.example", max_age: 60, secure: true, httponly: true,
                    same_site: :lax, expires: Time.at(0) }
    cookies.delete(:a, path: "/")
    assert_equal ["b=x+y%3B",
                  "c=v; domain=d.example; path=/p; max-age=60; expires=Thu, 01 Jan 1970 00:00:00 GMT; " \
                  "secure; HttpOnly; SameSite=Lax",
                  "a=deleted; path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT"], cookies.set_cookies
  end

  def test_an_option_cannot_carry_another_header
    cookies = Cookies.new(nil)
    cookies[:a] = { value: "v", path: "/\r\nX-Evil: 1" }
    refute_match(/[\r\n]/, cookies.set_cookies.first)
  end

  def test_every_cookie_is_a_header_of_its_own
    baker = api { get(:x) { cookies[:a] = 1; cookies[:b] = 2; "x" } }
    assert_equal %w[a=1 b=2], get(baker, "/x").headers["set-cookie"]
  end
end
