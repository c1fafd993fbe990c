/** A self-signed certificate for a server of a test. */
import { createPrivateKey, X509Certificate } from 'node:crypto'

const KEY =
  'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9tMylPwk9sGiIOzgbARXGBycTNsMP+ybd5rBrM3hpJmhRANCAAQylq1xLriIPzKDihund0ZjWRDhDBM1EWT47Dq9nX3cn8AVlknv0EtjnFPgSouKYdu1H+3XTbp9plD76idB0lwg'
const CERTIFICATE =
  'MIIBeTCCAR+gAwIBAgIUGDJoRXbylFJ/1fIZI2XhgJeAJCEwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTExNjE3NDg0NFoYDzIxMjYxMDIzMTc0ODQ0WjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQylq1xLriIPzKDihund0ZjWRDhDBM1EWT47Dq9nX3cn8AVlknv0EtjnFPgSouKYdu1H+3XTbp9plD76idB0lwgo1MwUTAdBgNVHQ4EFgQU/XfaYYyHqes548rFwT/cfNI/8acwHwYDVR0jBBgwFoAU/XfaYYyHqes548rFwT/cfNI/8acwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAo7/6XomfUB6DiDgNYubUh6x7Mmbo9V1iiwKoB+UcUuYCIG0ozYyBqAzfLjSntZoqYPf6oACTukvnGPVtdhQ/guW8'

export const SELF_SIGNED = {
  key: createPrivateKey({ key: Buffer.from(KEY, 'base64'), format: 'der', type: 'pkcs8' }).export({
    type: 'pkcs8',
    format: 'pem',
  }),
  cert: new X509Certificate(Buffer.from(CERTIFICATE, 'base64')).toString(),
}
