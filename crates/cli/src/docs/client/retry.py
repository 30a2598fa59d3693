import random
import time
import urllib.error
import urllib.request

ATTEMPTS = 5
LONGEST_WAIT = 60


def ask(url, headers=None):
    for attempt in range(1, ATTEMPTS + 1):
        request = urllib.request.Request(url, headers=headers or {})
        try:
            return urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as refusal:
            wait = refusal.headers.get("Retry-After", "")
            worth_it = refusal.code in (429, 503) and wait.isdigit() and int(wait) <= LONGEST_WAIT
            if not worth_it or attempt == ATTEMPTS:
                raise
            refusal.close()
            time.sleep(int(wait) + random.uniform(0, 1 + int(wait) / 10))


with ask("BASE_URL/"HEADERS_ARGUMENT) as response:
    print(response.status, response.read().decode())
