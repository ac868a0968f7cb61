# frozen_string_literal: true

require "digest"
require "fileutils"
require "rubygems/package"
require "timeout"
require "zlib"

# Owns the request corpus of gunicorn (MIT licence): raw requests that a server must refuse, and ones that it must
# accept. It is not part of this repository: it is fetched once from PyPI with pip, checked and kept under tmp/.
module HttpCorpus
  VERSION = "27.0.1"
  SHA256 = "b1514965361c8b7e8107a80aa2a92636878df1ccfac6dd204a676426e04d9e3e"
  FOLDER = File.expand_path("../../tmp/corpora", __dir__)
  ARCHIVE = File.join(FOLDER, "gunicorn-#{VERSION}.tar.gz")
  DOWNLOAD = ["python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
              "--no-binary", "gunicorn", "--dest", FOLDER, "gunicorn==#{VERSION}"].freeze
  DOWNLOAD_SECONDS = 90

  # Raised with the reason when the corpus is not there and cannot be had.
  class Unavailable < StandardError; end

  class << self
    # @param kind [String] "invalid" or "valid"
    # @return [Hash{String=>String}] name => bytes
    # @raise [Unavailable]
    def cases(kind) = all.fetch(kind)

    private

    def all = @all ||= read(archive)

    def read(path)
      Zlib::GzipReader.open(path) do |unzipped|
        Gem::Package::TarReader.new(unzipped).each_with_object({ "invalid" => {}, "valid" => {} }) do |entry, cases|
          match = %r{/tests/requests/(invalid|valid)/(.+)\.http\z}.match(entry.full_name) or next
          cases[match[1]][match[2]] = bytes(entry.read)
        end
      end
    end

    # The files spell line ends and control bytes out, and break lines where it reads well.
    def bytes(text)
      text.b.delete("\n").gsub(/\\(r\\n|n|t|0|x\h\h)/n) do
        case Regexp.last_match(1)
        when 'r\n' then "\r\n"
        when "n" then "\n"
        when "t" then "\t"
        when "0" then "\0"
        else Regexp.last_match(1)[1..].hex.chr
        end
      end
    end

    def archive
      download unless File.file?(ARCHIVE)
      return ARCHIVE if Digest::SHA256.file(ARCHIVE).hexdigest == SHA256

      raise Unavailable, "#{ARCHIVE} is not the archive that this test knows: its SHA-256 differs."
    end

    def download
      FileUtils.mkdir_p(FOLDER)
      pid = Process.spawn(*DOWNLOAD, out: File::NULL, err: File::NULL)
      Timeout.timeout(DOWNLOAD_SECONDS) { Process.wait(pid) }
      raise Unavailable, "pip cannot download gunicorn #{VERSION}: #{DOWNLOAD.join(' ')}" unless File.file?(ARCHIVE)
    rescue Errno::ENOENT
      raise Unavailable, "python3 with pip, which downloads the corpus, is not installed."
    rescue Timeout::Error
      Process.kill(:KILL, pid)
      Process.wait(pid)
      raise Unavailable, "pip did not download gunicorn #{VERSION} within #{DOWNLOAD_SECONDS} s."
    end
  end
end
