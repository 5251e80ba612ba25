// Virtual users that request the content again and again, and check status and body each time.
import http from 'k6/http';
import { check } from 'k6';

const content = open(__ENV.CONTENT);

export default function () {
  const answer = http.get(__ENV.URL);
  check(answer, {
    'status is 200': () => answer.status === 200,
    'body is the content': () => answer.body === content,
  });
}
