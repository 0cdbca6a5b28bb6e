// A request {method, url, headers, body} as code in several languages. Staff routes: HTTP Basic, with a user to fill in.
const STAFF = "USER:PASSWORD";

const quote = (text) => JSON.stringify(text);
const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const phpQuote = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
const basic = `Basic ${btoa(STAFF)}`;
const headersOf = ({ headers }, isStaff) => Object.entries(isStaff ? { ...headers, Authorization: basic } : headers);

function curl({ method, url, headers, body }, isStaff) {
  const parts = [`curl -X ${method}`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${shellQuote(`${name}: ${value}`)}`);
  if (isStaff) parts.push(`-u ${STAFF}`);
  if (body !== undefined) parts.push(`--data-binary ${shellQuote(body)}`);
  return [...parts, shellQuote(url)].join(" ");
}

function python(request, isStaff) {
  const headers = headersOf(request, isStaff).map(([name, value]) => `${quote(name)}: ${quote(value)}`).join(", ");
  const data = request.body === undefined ? "" : `\n    data=${quote(request.body)}.encode(),`;
  return `import urllib.error
import urllib.request

request = urllib.request.Request(
    ${quote(request.url)},
    method=${quote(request.method)},
    headers={${headers}},${data}
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.status, response.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())`;
}

function go(request, isStaff) {
  const body = request.body === undefined ? "nil" : `strings.NewReader(${quote(request.body)})`;
  const headers = headersOf(request, isStaff).map(([name, value]) => `\trequest.Header.Set(${quote(name)}, ${quote(value)})\n`);
  return `package main

import (
	"fmt"
	"io"
	"net/http"${request.body === undefined ? "" : '\n\t"strings"'}
)

func main() {
	request, err := http.NewRequest(${quote(request.method)}, ${quote(request.url)}, ${body})
	if err != nil {
		panic(err)
	}
${headers.join("")}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(content))
}`;
}

function php(request, isStaff) {
  const headers = headersOf(request, isStaff).map(([name, value]) => phpQuote(`${name}: ${value}`)).join(", ");
  const body = request.body === undefined ? "" : `curl_setopt($request, CURLOPT_POSTFIELDS, ${phpQuote(request.body)});\n`;
  return `<?php
$request = curl_init(${phpQuote(request.url)});
curl_setopt($request, CURLOPT_CUSTOMREQUEST, ${phpQuote(request.method)});
curl_setopt($request, CURLOPT_HTTPHEADER, [${headers}]);
curl_setopt($request, CURLOPT_RETURNTRANSFER, true);
${body}$content = curl_exec($request);
echo curl_getinfo($request, CURLINFO_RESPONSE_CODE), ' ', $content, PHP_EOL;`;
}

function java(request, isStaff) {
  const headers = headersOf(request, isStaff).map(([name, value]) => `\n            .header(${quote(name)}, ${quote(value)})`).join("");
  const body = request.body === undefined ? "noBody()" : `ofString(${quote(request.body)})`;
  return `import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

public class Call {
    public static void main(String[] args) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(${quote(request.url)}))${headers}
            .method(${quote(request.method)}, BodyPublishers.${body})
            .build();
        var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
        System.out.println(response.statusCode() + " " + response.body());
    }
}`;
}

function node(request, isStaff) {
  const headers = headersOf(request, isStaff).map(([name, value]) => `${quote(name)}: ${quote(value)}`).join(", ");
  const body = request.body === undefined ? "" : `\n  body: ${quote(request.body)},`;
  return `const response = await fetch(${quote(request.url)}, {
  method: ${quote(request.method)},
  headers: { ${headers} },${body}
});
console.log(response.status, await response.text());`;
}

export const LANGUAGES = { curl, Python: python, Go: go, PHP: php, Java: java, Node: node };
