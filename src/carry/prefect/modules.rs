//! Modules that a flow of the same name would hide: Python searches the folder of the program first, so that `import
//! secrets` would load the file `secrets.py` everywhere.

/// Modules of Python's standard library, in alphabetical order.
const OF_PYTHON: &str = "abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii \
    bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression \
    concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib \
    dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib \
    functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr \
    imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math \
    mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator \
    optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile \
    pstats pty pwd py_compile pyclbr pydoc pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched \
    secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 ssl stat \
    statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile \
    termios test textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types \
    typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc \
    zipapp zipfile zipimport zlib zoneinfo";

/// Modules that Prefect installs.
const OF_PREFECT: &str = "aiosqlite alembic amplitude annotated_doc annotated_types anyio apprise asgi_lifespan asyncpg attr \
    attrs beartype burner_redis cachetools certifi cffi charset_normalizer click cloudpickle colorama coolname cronsim \
    cryptography cyclopts dateparser dateutil docker docket docstring_parser dotenv exceptiongroup fastapi fsspec graphviz \
    greenlet griffe griffecli h11 h2 hpack httpcore httpx humanize hyperframe idna jinja2 jsonpatch jsonpointer jsonschema \
    key_value mako markdown markdown_it markupsafe mdurl oauthlib opentelemetry orjson packaging pathspec pendulum pip \
    pkg_resources pluggy prefect prometheus_client pycparser pydantic pydantic_core pydantic_extra_types pydantic_settings \
    pygments pythonjsonlogger pytz readchar redis referencing regex requests rich rpds ruamel semver setuptools shellingham six \
    slugify sniffio sqlalchemy starlette text_unidecode toml typer typing_extensions typing_inspection tzdata tzlocal urllib3 \
    uvicorn websockets yaml";

/// Whether a file of this name (without its extension) would hide a module.
pub(super) fn hides(name: &str) -> bool {
    // Some file systems are case-insensitive.
    let name = name.to_ascii_lowercase();
    let mut all = OF_PYTHON.split_ascii_whitespace().chain(OF_PREFECT.split_ascii_whitespace());
    all.any(|module| module == name)
}
